"""Time on a GPU, stamped there: a call returns before the GPU is done.

A layer of a model finds little of its data in the L2 cache, because the layers before it passed
through: so each call finds it empty, filled with a buffer twice its size between the stamps of one
call and the next. Meanwhile the CPU queues the call, whose launches then are not in its time. Two
stamps are about a microsecond apart by themselves, which calls of a few microseconds feel.
"""

from typing import ClassVar, Final, final

import torch

from attncost.measure.clocks.interface import Clock, Run

# Half a microsecond lies between two values that an event can take.
_TICK: Final = 0.5e-6
_MILLI: Final = 1e-3


@final
class CudaClock(Clock):
    """Time between two events around each call, which finds the L2 cache without its data."""

    __slots__ = ()
    name: ClassVar[str] = "CUDA events, L2 cache emptied before each call"
    reason: ClassVar[str] = (
        "a call returns before the GPU is done: events are stamped on the GPU; in a model a layer "
        "does not find its data in the cache either"
    )
    device: ClassVar[str] = "cuda"
    resolution: ClassVar[float] = _TICK

    def elapsed(self, call: Run, repeats: int) -> float:
        """Empty, stamp, call, stamp, as often as asked, and wait once for all of it."""
        cache = torch.cuda.get_device_properties().L2_cache_size
        buffer = torch.empty(2 * cache, dtype=torch.uint8, device="cuda")
        stamps = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(repeats)]
        torch.cuda.synchronize()
        for start, stop in stamps:
            buffer.zero_()
            start.record()
            call()
            stop.record()
        torch.cuda.synchronize()
        milliseconds: float = sum(start.elapsed_time(stop) for start, stop in stamps)
        return _MILLI * milliseconds
