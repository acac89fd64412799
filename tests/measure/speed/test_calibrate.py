from itertools import product

import pytest
import torch
from tests.measure.sweep.test_interleaved import Ticking

from attncost.kernels.interface import Work
from attncost.kernels.rates import RATES
from attncost.measure.speed.calibrate import calibrated, probes
from attncost.measure.speed.families import families
from attncost.measure.speed.kernels import fitted
from attncost.measure.speed.sampling import sampled, spread


def test_every_call_is_sampled_once_a_round_and_rounds_differ_in_order():
    clock, told = Ticking(), []
    calls = {name: clock.call(name, 1.0) for name in "abcdefgh"}
    samples = sampled(calls, clock, budget=1e9, progress=told.append)
    assert {len(found) for found in samples.values()} == {9}
    rounds = [clock.order[8 + 8 * i : 16 + 8 * i] for i in range(9)]
    assert all(sorted(order) == list("abcdefgh") for order in rounds)
    assert len({tuple(order) for order in rounds}) > 1
    assert told == sorted(told)
    assert told[-1] == 1


def test_no_round_begins_once_the_budget_is_spent_but_some_are_made():
    clock = Ticking()
    calls = {name: clock.call(name, 10.0) for name in "ab"}
    samples = sampled(calls, clock, budget=1.0, progress=lambda _: None)
    assert len(samples["a"]) == 5
    clock = Ticking()
    calls = {name: clock.call(name, 10.0) for name in "ab"}
    samples = sampled(calls, clock, budget=200.0, progress=lambda _: None)
    assert 5 < len(samples["a"]) < 9
    assert clock.now <= 200


def test_short_calls_are_timed_several_at_once():
    clock = Ticking()
    sampled({"short": clock.call("short", 1.9e-4)}, clock, budget=1e-9, progress=lambda _: None)
    # Once and eleven times to warm up, then five rounds of one more and eleven.
    assert len(clock.order) == 1 + 11 + 5 * 12


def test_the_spread_of_a_median_is_that_of_samples_over_the_root_of_their_number():
    generator = torch.Generator().manual_seed(0)
    drawn = (1 + 0.1 * torch.randn(400, generator=generator)).tolist()
    assert spread(drawn) == pytest.approx(0.1 * 1.2533 / 20, rel=0.2)
    assert spread([1.0]) == 0.0


@pytest.fixture(scope="module")
def calls():
    with torch.inference_mode():
        return probes()


@pytest.fixture
def samples(calls):
    """Return samples of a machine that takes 2 microseconds, and a nanosecond for each unit."""
    found = dict.fromkeys(calls, [1e-3] * 5)
    for family in families().values():
        least = f"{family.name} @ {family.least}"
        found[least], found[f"{least}, cold"] = [2e-6] * 5, [1e-3 + 5e-6] * 5
        for point in product(*family.knots):
            found[f"{family.name} @ {point}"] = [2e-6 + 1e-9 * family.work(point)] * 5
    return found


def test_a_calibration_finds_the_laws_that_times_were_made_from(samples):
    found = calibrated(samples, environment={})
    assert found.tables.keys() == families().keys()
    for table in found.tables.values():
        assert table.start == pytest.approx(2e-6)
        assert table.cold == pytest.approx(5e-6)
        assert table.rates == pytest.approx([1e-9] * len(table.rates), rel=1e-6)
        assert (table.spread, table.error) == pytest.approx((0, 0), abs=1e-9)
    assert found.flops_per_second == pytest.approx(2 * 1024**3 / 1e-3)
    assert found.view == pytest.approx(1e-3 / 4)
    assert found.drift == 0
    assert found.packed == (0.0, 0.0)
    assert found.kernels.keys() >= {"sdpa", "folded"}


def test_what_is_far_away_never_gets_cheaper(samples):
    for count, seconds in ((1, 1e-4), (2, 4e-4), (4, 6e-4), (8, 1.2e-3), (24, 6e-3), (56, 1.4e-2)):
        samples[f"far @ {count}"] = [seconds] * 5
    costs = [cost for _, cost in calibrated(samples, environment={}).far]
    assert costs[0] == 0
    assert costs == sorted(costs)
    assert costs[1] == pytest.approx(1e-4 / (1 << 20))


def test_packed_texts_take_what_a_row_and_each_text_take_more(samples):
    for texts in (2, 32):
        samples[f"{texts} texts in rows"] = [1e-3 + texts * 1e-5] * 5
        samples[f"{texts} texts in a row"] = [1e-3 + texts * 1e-5 + 7e-4 + texts * 5e-5] * 5
    assert calibrated(samples, environment={}).packed == pytest.approx((7e-4, 5e-5))
    # Between products a row takes longer than one after the other.
    samples["2 texts in a row, cold"] = [5e-3 + 9e-4 + 2 * 5e-5] * 5
    samples["2 texts in rows, cold"] = [5e-3] * 5
    assert calibrated(samples, environment={}).packed == pytest.approx((9e-4, 5e-5))


def test_rates_of_a_kernel_are_found_again_from_its_times():
    rates, heads = RATES["folded"], 8
    works = [
        Work(pairs, 64, 64, 0, calls=calls, masked=masked)
        for pairs, calls, masked in (
            (4096, 1, 0),
            (65_536, 3, 4096),
            (1 << 20, 2, 0),
            (9999, 9, 77),
        )
    ]
    times = [
        1e-9
        * (
            rates.start
            + work.calls * rates.call
            + work.masked * rates.mask
            + 4 * heads * work.pairs * 64 * rates.flop
        )
        for work in works
    ]
    found = fitted(list(zip(works, times, strict=True)), heads=heads)
    assert found.start == pytest.approx(rates.start, rel=1e-3)
    assert found.flop == pytest.approx(rates.flop, rel=1e-3)
