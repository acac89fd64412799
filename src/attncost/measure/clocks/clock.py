"""Which clock times a call, and why that one.

    CPU, one thread        CPU time of the process
    CPU, several threads   wall time
    GPU                    CUDA events around each call, its L2 cache emptied before

On a shared machine the wall time of one layer spreads by 52 to 59 %, the CPU time of one thread by
8 %: waiting for a core is not counted. CPU time says nothing of several threads or of waiting for
a disk; wall time is kept beside it. Of several threads CPU time is the sum, in which one that
spins at a barrier counts as much as one that works: then only wall time says how long a call takes,
and what it waited for a core, which is counted beside it, is in it.
"""

import time
from typing import ClassVar, final

import torch

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.measure.clocks.cuda import CudaClock
from attncost.measure.clocks.interface import Clock, Run


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
class WallClock(Clock):
    """Time on the wall, for calls whose threads work at once."""

    __slots__ = ()
    name: ClassVar[str] = "wall time"
    reason: ClassVar[str] = (
        "of several threads CPU time is the sum, those that spin at a barrier included, and does "
        "not say how long a call takes; waiting for a core is in it, and is counted beside it"
    )
    device: ClassVar[str] = "cpu"
    resolution: ClassVar[float] = time.get_clock_info("perf_counter").resolution

    def elapsed(self, call: Run, repeats: int) -> float:
        """Look at the clock before and after."""
        start = time.perf_counter()
        for _ in range(repeats):
            call()
        return time.perf_counter() - start


def clock_for(device: str, threads: int = 1) -> Clock:
    """Return the clock that is right on a device, `cpu` or `cuda`, with so many threads.

    Raises:
        ShapeError: If there is no thread.
        UnsupportedOption: If there is no clock for it, or no such device here.
    """
    if threads < 1:
        raise ShapeError(f"threads must be at least 1, got {threads}.")
    if device == "cpu":
        return CpuClock() if threads == 1 else WallClock()
    if device != "cuda":
        raise UnsupportedOption(f"device must be cpu or cuda, got {device!r}.")
    if not torch.cuda.is_available():
        raise UnsupportedOption("PyTorch finds no CUDA device here: measure on the cpu.")
    return CudaClock()
