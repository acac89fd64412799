"""What is not ordinary: rows that read nothing, numbers that are none, types, modes, refusals."""

import math

import pytest
import torch
from tests.oracle import definition, random_key_mask
from tests.view.statistics.test_exactness import GAUGES, compare, drawn

from attncost import Causal, Full, MemoryMonitor, Window, attention
from attncost.view.statistics.gauges import Gauges
from attncost.view.statistics.statistics import statistics

OF_QUERIES = ["entropy", "largest", "distance", "quantiles", "within", "negligible", "output"]
OF_QUERIES += ["on_first", "on_self", "on_previous", "on_padded"]
OF_HEADS = ("received", "map", "by_distance")


def test_a_row_that_reads_nothing_is_0_and_never_counts():
    q, k, v = drawn(9, 4)
    found = compare(q, k, v, Causal(), key_mask=random_key_mask(torch.Generator(), 4))
    assert not found.counted[0, :5].any(), "the first five queries stand before the first key"
    assert not found.counted[1].any(), "nothing may be read in the last sequence"
    for name in OF_QUERIES:
        assert not getattr(found, name)[1].any()
    assert (found.lse[1] == -math.inf).all()
    assert (found.logit[1] == -math.inf).all()
    for name in OF_HEADS:
        assert not getattr(found, name)[1].any()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("of", ["k", "v"])
def test_a_bad_key_or_value_is_seen_by_its_readers_alone(value, of):
    q, k, v = drawn(150, 150)
    clean = statistics(q, k, v, Causal(), gauges=GAUGES)
    spoilt = {"k": k.clone(), "v": v.clone()}
    spoilt[of][:, 0, 100] = value
    found = statistics(q, spoilt["k"], spoilt["v"], Causal(), gauges=GAUGES)
    # The first of two heads of keys belongs to the first two of four.
    for name in ("lse", "logit", *OF_QUERIES):
        same, other = getattr(clean, name), getattr(found, name)
        assert torch.equal(same[:, :, :100], other[:, :, :100])
        assert torch.equal(same[:, 2:], other[:, 2:])
        broken = of == "k" or name == "output"
        assert bool(other[:, :2, 100:].isnan().all()) == broken
        assert broken or torch.equal(same, other)
    for name in OF_HEADS:
        assert getattr(found, name).isfinite().all()
    if of == "k":
        counts = torch.arange(150).expand(2, -1) < 100
        alone = statistics(q, k, v, Causal(), gauges=GAUGES, query_mask=counts)
        for name in OF_HEADS:
            torch.testing.assert_close(getattr(found, name)[:, :2], getattr(alone, name)[:, :2])


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_keys_and_values_that_nobody_reads_may_be_anything(value):
    q, k, v = drawn(70, 90)
    key_mask = torch.arange(90).expand(2, -1) > 30
    clean = statistics(q, k, v, Full(), key_mask=key_mask)
    k[:, :, :31], v[:, :, 5] = value, value
    found = statistics(q, k, v, Full(), key_mask=key_mask)
    for name in ("lse", "logit", *OF_QUERIES, *OF_HEADS):
        assert torch.equal(getattr(clean, name), getattr(found, name))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_bad_query_spoils_its_own_row_if_it_reads_anything(value):
    q, k, v = drawn(40, 30)
    q[0, 1, 3] = q[0, 1, 20] = value
    found = statistics(q, k, v, Causal())
    assert found.lse[0, 1, 3] == -math.inf, "this query stands before the first key"
    assert not found.entropy[0, 1, 3]
    assert found.entropy[0, 1, 20].isnan()
    assert int(found.entropy.isnan().sum()) == 1
    assert found.received.isfinite().all()


def test_a_bias_hides_where_it_is_minus_infinity_and_only_there():
    q, k, v = drawn(20, 20, heads=(2, 2), batch=1)
    bias = torch.zeros(1, 1, 20, 20).masked_fill_(torch.rand(20, 20) > 0.5, -math.inf)
    bias[..., 3, :] = -math.inf
    bias[..., 7, :] = torch.finfo(torch.float32).min
    found = statistics(q, k, v, bias=bias)
    assert found.lse[0, 0, 3] == -math.inf
    torch.testing.assert_close(found.largest[..., 7], torch.full((1, 2), 1 / 20))
    bias[..., 11, :] = math.nan
    bias[..., 12, 0] = math.inf
    found = statistics(q, k, v, Causal(), bias=bias)
    bad = torch.zeros(20, dtype=torch.bool)
    bad[11:13] = True
    assert torch.equal(found.entropy.isnan(), bad.expand(1, 2, -1))


@pytest.mark.parametrize("pattern", [Window(1), Window(2), Causal(), Full()], ids=str)
def test_large_scores_leave_entropy_exact(pattern):
    # Numbers that float32 multiplies without rounding, so that only what follows can be inexact.
    q, k, v = (x.mul(4).round() / 4 for x in drawn(300, 300, features=(64, 8)))
    found = compare(16 * q, k, v, pattern)
    assert found.logit.amax() > 50
    assert pattern != Window(1) or not found.entropy.any()


@pytest.mark.parametrize("key", [0, 1000, 2999])
def test_a_key_far_from_all_queries_lies_at_its_distance(key):
    q, k, v = drawn(3000, 3000, heads=(1, 1), features=(2, 2), batch=1)
    key_mask = (torch.arange(3000) == key)[None]
    found = statistics(q, k, v, key_mask=key_mask, gauges=GAUGES)
    far = (torch.arange(3000) - key).abs()
    assert torch.equal(found.distance[0, 0], far.float())
    assert torch.equal(found.quantiles[0, 0], far[:, None].expand(-1, 4).float())
    assert torch.equal(found.within[0, 0], (far[:, None] < torch.tensor(GAUGES.widths)).float())
    assert torch.equal(found.output[0, 0], v[0, 0, key].expand(3000, 2))


def test_a_long_sequence_is_measured_without_all_its_weights():
    n, rows = 10_000, [0, 4999, 9999]
    q, k, v = drawn(n, n, heads=(1, 1), features=(64, 64), batch=1)
    with MemoryMonitor() as memory:
        found = statistics(q, k, v, Causal())
    # All weights are 400 MB.
    assert memory.peak < 60 * 2**20
    for row in rows:
        weights = (k[0, 0, : row + 1].double() @ q[0, 0, row].double() / 8).softmax(0)
        far = row - torch.arange(row + 1)
        exact = {
            "entropy": torch.special.entr(weights).sum(),
            "distance": (weights * far).sum(),
            "negligible": weights[weights < 1e-4].sum(),
            "output": weights @ v[0, 0, : row + 1].double(),
        }
        for name, number in exact.items():
            got = getattr(found, name)[0, 0, row].double()
            torch.testing.assert_close(got, number, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(found.by_distance.sum(), torch.tensor(1.0))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_widened(dtype):
    q, k, v = drawn(150, 150, dtype=dtype)
    bias = torch.randn(1, 4, 1, 150, dtype=dtype)
    found = statistics(q, k, v, Causal(), bias=bias)
    wide = statistics(q.float(), k.float(), v.float(), Causal(), bias=bias)
    assert found.entropy.dtype == torch.float32
    assert torch.equal(found.entropy, wide.entropy)
    assert found.output.dtype == dtype


def test_double_precision_is_kept():
    q, k, v = drawn(150, 150, dtype=torch.float64)
    compare(q, k, v, Causal(), near={"rtol": 1e-12, "atol": 1e-12}, sink=torch.randn(4).double())


def test_autocast_and_gradients_are_left_out():
    q, k, v = drawn(70, 70)
    plain = statistics(q, k, v, Causal())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = statistics(q.requires_grad_(), k, v, Causal())
    assert torch.equal(plain.entropy, found.entropy)
    assert not found.output.requires_grad
    weight = torch.ones((), requires_grad=True)
    (weight * found.entropy).sum().backward()
    assert weight.grad == found.entropy.sum(), "results are ordinary tensors"


def test_the_output_is_that_of_attention():
    q, k, v = drawn(150, 150)
    options = {"softcap": 2.0, "sink": torch.randn(4)}
    found = statistics(q, k, v, Window(33), **options)
    torch.testing.assert_close(found.output, attention(q, k, v, Window(33), **options))
    assert statistics(q, k, pattern=Window(33), **options).output is None


def test_masses_leave_to_a_sink_what_it_takes():
    q, k, v = drawn(30, 30)
    found = statistics(q, k, v, Causal(), sink=torch.full((4,), 100.0))
    assert found.within.amax() < 1e-30
    torch.testing.assert_close(found.distance, statistics(q, k, v, Causal()).distance)


def test_documents_and_padding_are_not_even_multiplied():
    # All pairs of 1024 documents of 16 tokens would take a minute under the hook's checks.
    n = 1 << 14
    q, k, v = drawn(n, n, heads=(1, 1), features=(4, 4), batch=1)
    segments = (torch.arange(n) // 16)[None]
    found = statistics(q, k, v, Causal(), segments=segments)
    torch.testing.assert_close(found.within[..., 0], torch.ones(1, 1, n))
    short = [x[:, :, -64:] for x in (q, k, v)]
    alone = statistics(*short, Causal(), segments=segments[:, -64:])
    torch.testing.assert_close(found.entropy[..., -64:], alone.entropy)
    torch.testing.assert_close(found.on_first[..., -64:], alone.on_first)


def test_dials_may_ask_for_nothing():
    gauges = Gauges(widths=(), quantiles=(), first=0, negligible=0.0, map_size=1)
    q, k, v = drawn(30, 40)
    found = statistics(q, k, v, gauges=gauges)
    assert found.within.shape == found.quantiles.shape == (2, 4, 30, 0)
    assert not found.on_first.any()
    assert not found.negligible.any()
    torch.testing.assert_close(found.map, torch.ones(2, 4, 1, 1))


def test_strided_tensors_are_read_as_they_lie():
    q, k, v = drawn(70, 70)
    layed = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)]
    found, plain = statistics(*layed, Causal()), statistics(q, k, v, Causal())
    torch.testing.assert_close(found.map, plain.map)
    torch.testing.assert_close(found.output, plain.output)
    expected, _ = definition(q.double(), k.double(), v.double(), Causal().mask(70, 70))
    torch.testing.assert_close(found.output.double(), expected, rtol=5e-6, atol=5e-6)


def test_many_queries_of_few_keys_make_nothing_of_their_square():
    q, k, _ = drawn(8192, 64, heads=(1, 1), features=(8, 8), batch=1)
    with MemoryMonitor() as memory:
        statistics(q, k)
    assert memory.peak < 8192 * 8192 * 4 / 4


def test_statistics_are_shown_by_their_sizes_and_not_by_their_numbers():
    q, k, _ = drawn(5, 7)
    b, h = q.shape[:2]
    found = statistics(q, k, gauges=GAUGES)
    assert repr(found) == f"Statistics(b={b}, h={h}, n=5, m=7, {GAUGES!r})"
