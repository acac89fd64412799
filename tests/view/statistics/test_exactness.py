"""Statistics are those of dense weights in float64, for every pattern and every option."""

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.every import PATTERNS
from tests.kernels.corners import ONE_EACH
from tests.kernels.wishes import EVERY, wishes
from tests.view.statistics.dense import OF_HEADS, OF_QUERIES, distances, statistics_of, values_of

from attncost.view.statistics.gauges import Gauges
from attncost.view.statistics.statistics import statistics

GAUGES = Gauges(widths=(1, 5, 64, 100, 1000), quantiles=(0.1, 0.5, 0.95, 1.0), map_size=7)
NEAR = {"rtol": 5e-6, "atol": 5e-6}
phases = (Phase.generate, Phase.shrink)
exact = settings(derandomize=True, deadline=None, max_examples=60, database=None, phases=phases)


def drawn(n, m, *, heads=(4, 2), features=(8, 5), batch=2, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(seed)
    (h, g), (d, e) = heads, features
    shapes = (batch, h, n, d), (batch, g, m, d), (batch, g, m, e)
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def compare(q, k, v, pattern, *, gauges=GAUGES, near=NEAR, **options):
    """Hold all statistics of a call to those of its dense weights."""
    n, m = q.shape[2], k.shape[2]
    found = statistics(q, k, v, pattern, gauges=gauges, **options)
    expected = statistics_of(q, k, pattern.mask(n, m), gauges=gauges, **options)
    weights, tolerance = expected["weights"], near["atol"]
    for name in (*OF_QUERIES, *OF_HEADS):
        torch.testing.assert_close(
            getattr(found, name).double(), expected[name], **near, msg=lambda text, n=name: n + text
        )
    assert torch.equal(found.counted, expected["counted"])
    # What jumps may be as it is on either side of a jump.
    limit = gauges.negligible
    low, high = ((weights * (weights < limit * by)).sum(-1) for by in (1 - 1e-5, 1 + 1e-5))
    assert (found.negligible >= low - tolerance).all()
    assert (found.negligible <= high + tolerance).all()
    mass, far = weights.sum(-1), distances(n, m)
    reads = mass > 0
    share = weights / torch.where(reads, mass, 1.0)[..., None]
    for place, wanted in enumerate(gauges.quantiles):
        at = found.quantiles[..., place, None]
        assert torch.equal(at, at.round())
        assert ((share * (far <= at)).sum(-1)[reads] >= wanted - tolerance).all()
        assert ((share * (far < at)).sum(-1)[reads] < wanted + tolerance).all()
        assert not at[~reads].any()
    if v is not None:
        torch.testing.assert_close(found.output.double(), values_of(weights, v), **near)
    return found


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@pytest.mark.parametrize(("n", "m"), [(130, 130), (40, 150)])
def test_every_pattern(pattern, n, m):
    compare(*drawn(n, m, heads=(2, 1), batch=1), pattern)


@pytest.mark.parametrize("pattern", ONE_EACH, ids=str)
@pytest.mark.parametrize(("n", "m"), [(1, 1), (150, 40), (1, 77), (0, 5), (5, 0), (700, 700)])
def test_every_size(pattern, n, m):
    compare(*drawn(n, m, heads=(2, 1), batch=1), pattern)


@exact
@given(
    pattern=st.sampled_from(PATTERNS),
    n=st.integers(1, 150),
    m=st.integers(1, 150),
    heads=st.sampled_from([(4, 4), (4, 2), (4, 1)]),
    names=st.lists(st.sampled_from(EVERY), unique=True),
    marked=st.booleans(),
    louder=st.sampled_from([1.0, 6.0]),
    seed=st.integers(0, 99),
)
def test_every_option(pattern, n, m, heads, names, marked, louder, seed):
    q, k, v = drawn(n, m, heads=heads, seed=seed)
    options = {
        name: x.detach().float() if isinstance(x, torch.Tensor) and x.requires_grad else x
        for name, x in wishes(*names, n=n, m=m).items()
    }
    generator = torch.Generator().manual_seed(seed)
    if marked:
        options["query_mask"] = torch.rand(2, n, generator=generator) > 0.5
        options["padded"] = torch.rand(2, m, generator=generator) > 0.5
    compare(louder * q, k, v, pattern, **options)
