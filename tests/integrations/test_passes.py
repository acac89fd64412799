"""What a step computes: the backward pass where it was counted, and forward passes again.

Priced by hand here: causal attention of 2 heads of 8 features, and products with weights.
"""

import pytest
import torch

from attncost import BlockSizes, Causal, Configuration, ShapeError
from attncost.cost.counting.count import count
from attncost.cost.over_length import over_length
from attncost.integrations.meter import Meter, Passes

D, F = 16, 40
BLOCK = BlockSizes(d_model=D, heads=2, hidden=F)
TINY = Configuration.alike("tiny", BLOCK, Causal())
TOKEN, PAIR = 2 * (4 * D * D + 2 * D * F), 4 * D


def ticking(*seconds):
    """Return a clock that makes each step take so long, in turn."""
    times = iter([t for each in seconds for t in (0.0, each)])
    return lambda: next(times)


def forward(n):
    return TOKEN * n + PAIR * (n * (n + 1) // 2)


def metered(cost=TINY, *, lengths, **passes):
    meter = Meter(cost, peak=1e6, passes=Passes(**passes), clock=ticking(2.0))
    with meter.step(lengths):
        pass
    return meter.last


def test_what_is_computed_again_counts_for_the_hardware_alone():
    plain, again = (metered(lengths=[10], again=times) for times in (0.0, 1.0))
    assert plain.exact == again.exact == 3 * forward(10)
    assert again.mfu == plain.mfu == plain.hfu
    # Forward, forward again, twice that backward: 4 instead of 3 (Korthikanti et al. 2022).
    for name in ("exact", "half", "dense"):
        assert again.hfu[name] == pytest.approx(plain.mfu[name] * 4 / 3, rel=1e-12)
    assert metered(lengths=[10], model=1).exact == forward(10)


@pytest.mark.parametrize("again", [0.0, 1.0, 0.5])
@pytest.mark.parametrize("frozen", [False, True])
def test_a_cost_that_was_counted_with_its_backward_pass_is_taken_once(frozen, again):
    """The forward pass is computed again, and is a third only where all parameters learn."""
    module = torch.nn.Sequential(*(torch.nn.Linear(D, D, device="meta") for _ in range(2)))
    module[0].requires_grad_(not frozen)

    def count_at(n, *, training=True):
        return count(module, torch.empty(1, n, D, device="meta"), training=training)

    cost = over_length(count_at, lengths=range(1, 9))
    given = {"lengths": [8, 5], "again": again}
    step = metered(cost, **given)
    matrix = 2 * D * D
    # Two forward; two weights' gradients and one input's, or but the last weight's.
    assert step.exact == 13 * matrix * (3 if frozen else 5)
    assert step.dense == 16 * matrix * (3 if frozen else 5)
    for name, tokens in (("exact", 13), ("half", 16), ("dense", 16)):
        able = 1e6 * step.seconds
        more = again * 2 * tokens * matrix
        assert step.hfu[name] == pytest.approx((step.flops[name] + more) / able, rel=1e-12)
    alone = over_length(lambda n: count_at(n, training=False), lengths=range(1, 9))
    assert metered(alone, **given).exact == 13 * matrix * 6


def test_what_is_computed_again_is_summed_over_steps():
    meter = Meter(TINY, peak=1e6, passes=Passes(again=1), clock=ticking(1.0, 2.0))
    for n in (5, 20):
        with meter.step([n]):
            pass
    every = forward(5) + forward(20)
    assert meter.totals().sum.hfu["exact"] == pytest.approx(4 * every / 3e6)


@pytest.mark.parametrize("passes", [{"model": 0}, {"model": -3}, {"again": -1.0}])
def test_passes_without_meaning_are_refused(passes):
    with pytest.raises(ShapeError, match="model >= 1 passes and again >= 0"):
        Passes(**passes)
