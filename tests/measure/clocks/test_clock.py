from time import get_clock_info, sleep
from typing import final

import pytest
import torch
from torch.autograd.profiler import profile

from attncost import ShapeError, UnsupportedOption
from attncost.measure.clocks.clock import CpuClock, WallClock, clock_for
from attncost.measure.clocks.interface import Clock
from attncost.measure.held.memory import MemoryMonitor


@final
class Counted(Clock):
    """Every call takes a quarter of a second, and starting the clock half a second."""

    __slots__ = ()
    name = "counted calls"
    reason = "the test knows the answer"
    device = "cpu"

    def elapsed(self, call, repeats):
        for _ in range(repeats):
            call()
        return 0.5 + 0.25 * repeats


def work():
    return sum(range(200_000))


def wait():
    sleep(0.05)


def test_a_reading_is_of_one_call_and_every_repeat_is_made():
    calls = []
    assert Counted().time(lambda: calls.append(1), 1).seconds == 0.75
    assert Counted().time(lambda: calls.append(1), 10).seconds == pytest.approx(0.3)
    assert len(calls) == 11


def test_cpu_time_counts_work_and_leaves_out_waiting():
    working, waiting = CpuClock().time(work, 20), CpuClock().time(wait, 2)
    assert waiting.wall_seconds >= 0.05
    assert waiting.seconds < waiting.wall_seconds / 2
    assert working.seconds > 0


def test_wall_time_counts_waiting_as_well():
    waiting = WallClock().time(wait, 2)
    assert 0.05 <= waiting.seconds <= waiting.wall_seconds
    assert waiting.usage.cpu_seconds < waiting.seconds / 2
    assert WallClock.resolution == get_clock_info("perf_counter").resolution


def test_a_call_is_never_timed_under_a_profiler_or_a_meter():
    with profile(), pytest.raises(UnsupportedOption, match="while a profiler or memory monitor"):
        Counted().time(lambda: None, 1)
    with (
        MemoryMonitor("cpu"),
        pytest.raises(UnsupportedOption, match="while a profiler or memory monitor"),
    ):
        Counted().time(lambda: None, 1)


def test_nothing_is_timed_without_a_repeat():
    with pytest.raises(ShapeError, match="repeats must be at least 1, got 0"):
        Counted().time(lambda: None, 0)


def test_the_clock_of_a_cpu_says_why_it_is_used():
    clock = clock_for("cpu")
    assert (clock.name, clock.device) == ("process CPU time", "cpu")
    assert "waiting for a core" in clock.reason


def test_several_threads_are_timed_on_the_wall():
    assert clock_for("cpu", threads=1).name == "process CPU time"
    clock = clock_for("cpu", threads=2)
    assert (clock.name, clock.device) == ("wall time", "cpu")
    assert "of several threads CPU time is the sum" in clock.reason
    with pytest.raises(ShapeError, match="threads must be at least 1, got 0"):
        clock_for("cpu", threads=0)


@pytest.mark.skipif(torch.cuda.is_available(), reason="says what is missing, and here nothing is")
def test_without_a_gpu_its_clock_is_refused():
    with pytest.raises(UnsupportedOption, match="no CUDA device here: measure on the cpu"):
        clock_for("cuda")


@pytest.mark.parametrize("device", ["tpu", "cuda:x", ""])
def test_an_unknown_device_is_refused(device):
    with pytest.raises(UnsupportedOption, match=f"device must be cpu or cuda, got '{device}'"):
        clock_for(device)
