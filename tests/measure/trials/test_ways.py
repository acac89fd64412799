import pytest
import torch
from tests.measure.sweep.test_interleaved import Ticking

from attncost.core.errors import ShapeError
from attncost.measure.trials.ways import time_ways

LENGTHS = [5, 0, 11]


def times(clock, seconds, **given):
    calls = {name: clock.call(name, taken) for name, taken in given.items()}
    return time_ways(calls, clock, lengths=LENGTHS, seconds=seconds)


def test_ways_are_compared_with_the_first_one():
    base, best = times(Ticking(), 1e9, padded=8.0, packed=2.0)
    assert (base.name, best.name) == ("padded", "packed")
    assert (base.ratio.figure, best.ratio.figure, best.ratio.rounds) == (1.0, 0.25, 15)
    assert (best.seconds, best.texts, best.tokens) == (2.0, 3, 16)


def test_a_slow_while_moves_times_and_no_ratio():
    clock = Ticking()

    def slowly():
        clock.load = 1.0 + len(clock.order) // 4
        clock.now += 3.0 * clock.load
        clock.order.append("base")

    def quickly():
        clock.load = 1.0 + len(clock.order) // 4
        clock.now += 1.0 * clock.load
        clock.order.append("other")

    _, other = time_ways({"base": slowly, "other": quickly}, clock, lengths=LENGTHS, seconds=1e9)
    assert (other.ratio.low, other.ratio.figure, other.ratio.high) == pytest.approx((1 / 3,) * 3)
    assert other.seconds > 2.0


@pytest.mark.parametrize(
    ("seconds", "rounds"), [(0.0, 3), (1.0, 3), (30.0, 3), (49.0, 4), (50.0, 5)]
)
def test_no_round_begins_that_would_end_too_late_but_some_are_made(seconds, rounds):
    found = times(Ticking(), seconds, padded=7.0, packed=3.0)
    assert {one.ratio.rounds for one in found} == {rounds}


def test_progress_goes_from_nothing_to_all():
    clock, told = Ticking(), []
    calls = {"padded": clock.call("padded", 2.0)}
    time_ways(calls, clock, lengths=LENGTHS, seconds=12.0, progress=told.append)
    assert told == sorted(told)
    assert (told[0], told[-1]) == (0.0, 1.0)


def test_one_thread_is_used_and_those_of_before_are_back():
    before, seen = torch.get_num_threads(), []
    torch.set_num_threads(2)
    try:
        clock = Ticking()

        def call():
            seen.append(torch.get_num_threads())
            clock.now += 1.0

        time_ways({"padded": call}, clock, lengths=LENGTHS, seconds=1.0)
        assert (set(seen), torch.get_num_threads()) == ({1}, 2)
    finally:
        torch.set_num_threads(before)


def test_nothing_to_time_is_refused():
    with pytest.raises(ShapeError, match="got 0 ways and 16 tokens"):
        time_ways({}, Ticking(), lengths=LENGTHS, seconds=1.0)
    with pytest.raises(ShapeError, match="got 1 ways and 0 tokens"):
        time_ways({"padded": print}, Ticking(), lengths=[0], seconds=1.0)
