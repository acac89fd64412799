import pytest
import torch
from tests.measure.doctor.told import Told, instruments

from attncost.measure.doctor.instruments import Comparison, Instruments, judged
from attncost.measure.sweep.interleaved import Ratio

MIB = 1 << 20


@pytest.mark.parametrize(
    ("low", "high", "rounds", "verdict"),
    [
        (1.06, 1.20, 6, "costs"),
        (1.04, 9.00, 6, "cannot tell"),
        (1.05, 1.20, 6, "cannot tell"),
        (0.50, 1.04, 6, "fine"),
        (0.50, 1.05, 6, "cannot tell"),
        (3.00, 4.00, 5, "cannot tell"),
    ],
)
def test_a_ratio_costs_only_if_its_whole_interval_lies_beyond_what_is_felt(
    low, high, rounds, verdict
):
    assert judged(Ratio((low + high) / 2, low, high, rounds)) == verdict


@pytest.mark.parametrize(
    ("now", "then", "verdict"),
    [
        (10 * MIB, 8 * MIB, "costs"),
        (10 * MIB, 8 * MIB + 1, "fine"),
        (MIB, MIB // 8, "fine"),
        (8 * MIB, 10 * MIB, "fine"),
        (None, None, "fine"),
    ],
)
def test_memory_costs_from_a_quarter_more_and_a_mebibyte_on(now, then, verdict):
    time = Ratio(0.5, 0.4, 0.6, 6)
    assert Comparison(time=time, clock="", bytes_now=now, bytes_then=then).verdict == verdict


def test_what_is_clear_after_six_rounds_ends_then_and_what_is_not_goes_on():
    clock = Told()
    clear = instruments(clock).compare(clock.call(2.0), clock.call(1.0))
    assert (clear.time, clear.verdict) == (Ratio(2.0, 2.0, 2.0, 6), "costs")
    equal = instruments(clock).compare(clock.call(1.0), clock.call(1.0))
    assert (equal.time, equal.verdict) == (Ratio(1.0, 1.0, 1.0, 6), "fine")
    # One warm-up call, for it takes a second; then it is faster once and slower ever after.
    unclear = instruments(clock).compare(clock.call(1.0, 1.0, 1.1), clock.call(1.0))
    assert (unclear.time.rounds, unclear.verdict) == (15, "costs")


def test_in_a_hurry_there_are_no_more_than_the_fewest_rounds():
    clock = Told()
    hurried = instruments(clock, left=lambda: -1.0)
    found = hurried.compare(clock.call(1.0, 1.0, 1.1), clock.call(1.0))
    assert (found.time.rounds, found.verdict) == (6, "cannot tell")


def test_too_few_rounds_promise_nothing():
    clock = Told()
    found = instruments(clock, rounds=5).compare(clock.call(9.0), clock.call(1.0))
    assert found.verdict == "cannot tell"
    assert "5 rounds promise nothing; 6 are the fewest" in found.reason


@pytest.mark.parametrize(
    ("high", "said"),
    [
        (0.6, "Advised for memory alone: it takes 2.00 x the time."),
        (1.04, "Advised for memory alone: it is not known to save time."),
        (1.20, "Advised for memory alone: it is not known to save time."),
    ],
)
def test_what_is_advised_for_memory_says_what_it_does_to_time(high, said):
    time = Ratio(0.5, 0.4, high, 6)
    assert Comparison(time=time, clock="", bytes_now=9 * MIB, bytes_then=MIB).trade == said
    assert Comparison(time=time, clock="").trade == ""
    faster = Ratio(2.0, 1.5, 2.5, 6)
    assert Comparison(time=faster, clock="", bytes_now=9 * MIB, bytes_then=MIB).trade == ""


def test_the_fastest_of_several_is_picked_in_rounds_that_do_not_count():
    clock = Told()
    # One warm-up each; then 4 rounds in which the lucky one is fastest, and 15 in which it is not.
    ways = {
        "now": clock.call(2.0),
        "half": clock.call(1.5),
        "lucky": clock.call(1.0, *[1.0] * 4, 4.0),
    }
    picked = instruments(clock).pick(ways, against="now", clock=clock)
    assert (picked.name, picked.time) == ("lucky", Ratio(0.5, 0.5, 0.5, 6))
    assert {name: sorted(times) for name, times in picked.seen.items()} == {
        name: [0, 1, 2, 3] for name in ways
    }


def false_costs(trials, *, truth, ways, noise):
    """Count how often the best of ways that take a second is called faster than the truth."""
    wrong = 0
    for trial in range(trials):
        clock = Told()
        calls = {str(i): clock.noisy(1.0, noise, f"{i} {trial}") for i in range(ways)}
        calls["now"] = clock.noisy(truth, noise, f"now {trial}")
        picked = instruments(clock).pick(calls, against="now", clock=clock)
        wrong += judged(picked.time) == "costs"
    return wrong / trials


# Picked and reported in the same rounds it would be 4 % and 7 %.
@pytest.mark.parametrize(("truth", "noise"), [(1.0, 0.3), (1.05, 0.1)])
def test_the_best_of_four_ways_that_are_not_felt_is_called_a_cost_in_few_cases(truth, noise):
    assert false_costs(200, truth=truth, ways=4, noise=noise) <= 0.04


def test_what_takes_just_as_long_as_is_not_felt_is_called_a_cost_in_few_cases():
    wrong = 0
    for trial in range(150):
        clock = Told()
        now, then = (clock.noisy(s, 0.1, f"{s}{trial}") for s in (1.05, 1.0))
        wrong += instruments(clock).compare(now, then).verdict == "costs"
    # 6 of 6, or 12 of 15 above the limit: 1.6 + 1.8 %; three standard errors beside that.
    assert wrong / 150 <= 0.034 + 0.044


def test_memory_is_measured_by_a_call_of_its_own_and_time_never_under_a_profiler():
    block = torch.ones(1 << 18)
    found = Instruments(rounds=6).compare(lambda: block + block + block, block.neg_)
    assert (found.bytes_now, found.bytes_then) == (2 * MIB, 0)
    assert found.clock == "process CPU time"
