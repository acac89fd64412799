from time import sleep

import pytest

from attncost.measure.clocks.clock import CpuClock, WallClock
from attncost.measure.clocks.interface import Clock
from attncost.measure.clocks.repeats import repeats_for


class Told(Clock):
    """Every call takes what the test says; nothing passes on the wall."""

    name, reason, device = "told", "the test knows", "cpu"

    def __init__(self, *seconds, resolution=0.0):
        self.seconds, self.resolution = list(seconds), resolution

    def elapsed(self, call, repeats):
        one = self.seconds.pop(0) if len(self.seconds) > 1 else self.seconds[0]
        return one * repeats


def numbers(clock, **wishes):
    return [repeats for repeats, _ in repeats_for(int, clock, **wishes)]


def test_calls_are_repeated_until_they_make_a_sample():
    assert numbers(Told(0.003)) == [1, 4]
    assert numbers(Told(0.003), enough=0.03) == [1, 10]
    assert numbers(Told(2.0)) == [1], "the first call is long enough to prove itself"


def test_what_only_the_first_call_takes_decides_nothing():
    assert numbers(Told(0.5, 0.004)) == [1, 1, 3]


def test_a_coarser_clock_asks_for_a_hundred_of_its_ticks():
    assert numbers(Told(0.25, resolution=0.015)) == [1, 6]


@pytest.mark.parametrize("clock", [CpuClock(), WallClock()])
def test_a_call_that_waits_is_not_repeated_for_ever(clock):
    readings = repeats_for(lambda: sleep(0.02), clock)
    assert [repeats for repeats, _ in readings] == [1, 1]
    assert readings[-1][1].wall_seconds >= 0.02
