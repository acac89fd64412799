"""Which clock times a call, and why that one.

    CPU: CPU time of the process, one thread          GPU: CUDA events around the calls

On a shared machine the wall time of one layer spreads by 52 to 59 %, the CPU time of one thread by
8 %: waiting for a core is not counted. CPU time says nothing of several threads or of waiting for
a disk; wall time is kept beside it.
"""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import torch

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.measure.clocks.usage import Usage
from attncost.measure.held.allocator import profiling

Run = Callable[[], object]


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """The time of one call, the mean of those that were timed together.

    Attributes:
        seconds: By the clock that was asked.
        wall_seconds: By the clock on the wall.
        usage: What the operating system counted meanwhile.
    """

    seconds: float
    wall_seconds: float
    usage: Usage


class Clock(ABC):
    """A way to time calls.

    Attributes:
        name: What it counts.
        reason: Why it is used.
        device: Where the work that it times runs, `cpu` or `cuda`.
        resolution: Seconds between two values that it can take; 0 if it takes every value.
    """

    __slots__ = ()
    name: ClassVar[str]
    reason: ClassVar[str]
    device: ClassVar[str]
    resolution: ClassVar[float] = 0.0

    @abstractmethod
    def elapsed(self, call: Run, repeats: int) -> float:
        """Return the seconds that all repeats took together."""

    @final
    def time(self, call: Run, repeats: int) -> Reading:
        """Return the time of one call, from several in a row.

        Raises:
            ShapeError: If there is no repeat.
            UnsupportedOption: If a profiler is running, whose own work would be timed as well.
        """
        if repeats < 1:
            raise ShapeError(f"repeats must be at least 1, got {repeats}.")
        if profiling():
            raise UnsupportedOption(
                "a call cannot be timed while a profiler or memory monitor is running: leave it "
                "first."
            )
        before, start = Usage.now(), time.perf_counter()
        seconds = self.elapsed(call, repeats)
        wall_seconds = time.perf_counter() - start
        usage = Usage.now().since(before, calls=repeats)
        return Reading(seconds / repeats, wall_seconds / repeats, usage)


@final
class CpuClock(Clock):
    """CPU time of this process, all its threads together."""

    __slots__ = ()
    name: ClassVar[str] = "process CPU time"
    reason: ClassVar[str] = (
        "with one thread it leaves out waiting for a core: on a shared machine it spreads by 8 %, "
        "wall time by more than 50 %"
    )
    device: ClassVar[str] = "cpu"
    # A billionth of a second on Linux, a sixty-fourth on other systems.
    resolution: ClassVar[float] = time.get_clock_info("process_time").resolution

    def elapsed(self, call: Run, repeats: int) -> float:
        """Count what the operating system charged to this process."""
        start = time.process_time()
        for _ in range(repeats):
            call()
        return time.process_time() - start


@final
class CudaClock(Clock):
    """Time between two events in the current CUDA stream."""

    __slots__ = ()
    name: ClassVar[str] = "CUDA events"
    reason: ClassVar[str] = "a call returns before the GPU is done; events are stamped on the GPU"
    device: ClassVar[str] = "cuda"
    resolution: ClassVar[float] = 0.5e-6

    def elapsed(self, call: Run, repeats: int) -> float:
        """Wait for what was queued before, stamp, call, stamp, wait."""
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        for _ in range(repeats):
            call()
        stop.record()
        torch.cuda.synchronize()
        milliseconds: float = start.elapsed_time(stop)
        return milliseconds / 1000


def clock_for(device: str) -> Clock:
    """Return the clock that is right on a device, `cpu` or `cuda`.

    Raises:
        UnsupportedOption: If there is no clock for it, or no such device here.
    """
    if device == "cpu":
        return CpuClock()
    if device != "cuda":
        raise UnsupportedOption(f"device must be cpu or cuda, got {device!r}.")
    if not torch.cuda.is_available():
        raise UnsupportedOption("PyTorch finds no CUDA device here: measure on the cpu.")
    return CudaClock()
