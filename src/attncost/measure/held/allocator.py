"""Watch PyTorch's allocators: every block on a CPU, their own statistics on a GPU.

    peak = max over time of the bytes that were handed out since the start and not yet taken back

A block from before the start that is freed inside counts nothing, so no number is negative. On a
CPU the events come from PyTorch's profiler: of this thread and of its backward pass, not of other
threads. A block of ours that another thread frees is missed only when its address is handed out
again; until then it counts as live, and for good if only parts of it are used again.
"""

import os
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final, final

import torch
from torch.autograd.profiler import profile

from attncost.core.errors import UnsupportedOption

_KINETO_LOG: Final = "KINETO_LOG_LEVEL"
_SILENT: Final = "99"
# One for each GPU that a memory monitor has watched; held while one does.
_WATCHED: Final[defaultdict[int, Lock]] = defaultdict(Lock)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """Bytes of one block of code.

    Attributes:
        peak: The most that was live at once, above the start.
        live: What it left behind, still live at its end.
        allocated: What all tensors on the GPU take at the end; None on a CPU.
        reserved: What PyTorch holds of the GPU at the end, free or not; None on a CPU.
    """

    peak: int
    live: int
    allocated: int | None = None
    reserved: int | None = None


def profiling() -> bool:
    """Say whether a profiler is running in this thread; PyTorch asks itself the same way."""
    running: bool = torch._C._autograd._profiler_enabled()
    return running


class Monitor(ABC):
    """One way to watch an allocator."""

    __slots__ = ()

    @abstractmethod
    def start(self) -> None:
        """Begin to watch.

        Raises:
            UnsupportedOption: If something else is watching already.
        """

    @abstractmethod
    def stop(self) -> Memory | None:
        """End, in any case, and say what was seen; None if something else took it away."""


@final
class Events(Monitor):
    """The blocks of the CPU's allocator, one by one."""

    __slots__ = ("_profile",)

    def start(self) -> None:
        """Start a profiler that records memory."""
        if profiling():
            raise UnsupportedOption(
                "a memory monitor cannot start inside a running profiler or another monitor, which "
                "record the same events: run them one after the other."
            )
        self._profile = profile(profile_memory=True)
        with quietly():
            self._profile.__enter__()

    def stop(self) -> Memory | None:
        """Stop the profiler and replay its blocks."""
        # PyTorch 2.11 refuses to stop what another profiler has stopped.
        if not profiling():
            return None
        with quietly():
            self._profile.__exit__(None, None, None)
        results = self._profile.kineto_results
        return None if results is None else replay(_blocks(results))


@final
class Statistics(Monitor):
    """What PyTorch's caching allocator says of one GPU."""

    __slots__ = ("_before", "_device")

    def __init__(self, device: str) -> None:
        here = device == "cuda"
        self._device = torch.cuda.current_device() if here else torch.device(device).index

    def start(self) -> None:
        """Start the peak anew."""
        torch.cuda.synchronize(self._device)
        self._before = torch.cuda.memory_allocated(self._device)
        if not _WATCHED[self._device].acquire(blocking=False):
            raise UnsupportedOption(
                "a memory monitor cannot start inside another one on the same GPU, whose peak "
                "would start anew: run them one after the other."
            )
        torch.cuda.reset_peak_memory_stats(self._device)

    def stop(self) -> Memory:
        """Read the statistics."""
        try:
            torch.cuda.synchronize(self._device)
            allocated = torch.cuda.memory_allocated(self._device)
            return Memory(
                peak=torch.cuda.max_memory_allocated(self._device) - self._before,
                live=max(0, allocated - self._before),
                allocated=allocated,
                reserved=torch.cuda.memory_reserved(self._device),
            )
        finally:
            _WATCHED[self._device].release()


def replay(blocks: list[tuple[int, int]]) -> Memory:
    """Follow blocks of (address, bytes) in order; negative bytes hand the block back.

    An address that is handed out twice was handed back in between, unseen.

    >>> replay([(1, 100), (2, 50), (1, -100), (9, -1000), (3, 20), (3, 30)])
    Memory(peak=150, live=80, allocated=None, reserved=None)
    """
    held: dict[int, int] = {}
    live = peak = 0
    for address, size in blocks:
        live -= held.pop(address, 0)
        if size >= 0:
            held[address] = size
            live += size
        peak = max(peak, live)
    return Memory(peak=peak, live=live)


def _blocks(results: Any) -> list[tuple[int, int]]:  # noqa: ANN401 -- PyTorch's is private
    """Return the CPU's blocks in the order in which they were handed out and taken back."""
    found, open_events = [], list(results.experimental_event_tree())
    while open_events:
        event = open_events.pop()
        open_events.extend(event.children)
        if event.name == "[memory]" and event.extra_fields.device.type == "cpu":
            block = event.extra_fields
            found.append((event.start_time_ns, block.ptr, block.alloc_size))
    # Both ends of one instant: what is taken back goes first, and the address may be used again.
    return [(address, size) for _, address, size in sorted(found, key=lambda b: (b[0], b[2]))]


@contextmanager
def quietly() -> Iterator[None]:
    """Keep the profiler from printing its own steps, which torch 2.13 does on standard error.

    It reads the variable once, when a process first profiles, and its steps rank above errors: they
    are silenced together, and for good. A variable that is set already is obeyed.
    """
    before = os.environ.get(_KINETO_LOG)
    os.environ.setdefault(_KINETO_LOG, _SILENT)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_KINETO_LOG, None)
