"""How much memory a block of code takes, told by the allocator.

Counted is what PyTorch allocates; NumPy and the interpreter are not seen. On a CPU it runs under
PyTorch's profiler and slows the block down, so never time inside it. Of other threads it sees
nothing: what they allocate counts nothing, and what they free counts as live until its address is
handed out again, so a peak can be too high there.
"""

from types import TracebackType
from typing import final

import torch

from attncost.core.errors import UnsupportedOption
from attncost.core.notebook import as_html
from attncost.core.units import show
from attncost.measure.held.allocator import Events, Memory, Monitor, Statistics


@final
class MemoryMonitor:
    """Measure the memory of a block of code; ask for it once the block has ended.

    Blocks that were there before count nothing, whether they are used or freed; PyTorch remarks
    on standard error when one is freed on a CPU. On a GPU the peak that PyTorch keeps for the
    whole process starts anew, so one monitor a GPU may run at a time.

    PyTorch's profiler prints on standard error whenever it runs, unless `KINETO_LOG_LEVEL` forbids
    it, which it reads once a process. If a monitor is the first to profile and you have not set the
    variable, it asks for silence: lines that a later profiler of yours would print there, errors
    included, are lost as well. Set it yourself, to 4 for instance, to keep them.

    >>> import torch
    >>> with MemoryMonitor("cpu") as meter:
    ...     kept = torch.ones(256) + torch.ones(256)
    >>> meter.peak, meter.live
    (3072, 1024)
    >>> print(meter)
    peak 3.00 KiB, live 1.00 KiB above the start

    Args:
        device: `cpu` or `cuda`; if left out, `cuda` where this process already uses it.

    Raises:
        UnsupportedOption: If the device is another one; on entering, if a profiler is running.
    """

    _repr_html_ = as_html

    __slots__ = ("_device", "_memory", "_monitor")

    def __init__(self, device: str | None = None) -> None:
        if device is None:
            device = "cuda" if torch.cuda.is_initialized() else "cpu"
        if torch.device(device).type not in ("cpu", "cuda"):
            raise UnsupportedOption(f"memory is watched on cpu and cuda, got {device!r}.")
        self._device = device
        self._memory: Memory | None = None

    def __enter__(self) -> "MemoryMonitor":
        on_gpu = torch.device(self._device).type == "cuda"
        monitor: Monitor = Statistics(self._device) if on_gpu else Events()
        # Kept once it runs: if it is refused, the one that runs must still be there to be stopped.
        monitor.start()
        self._monitor, self._memory = monitor, None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._memory = self._monitor.stop()
        if self._memory is None and error is None:
            raise UnsupportedOption(
                "a profiler ran inside the memory monitor and took its events: run them one after "
                "the other."
            )

    @property
    def peak(self) -> int:
        """The most bytes that were live at once, above the start."""
        return self._measured().peak

    @property
    def live(self) -> int:
        """Bytes that the block left behind, still live at its end."""
        return self._measured().live

    @property
    def allocated(self) -> int | None:
        """Bytes that all tensors on the GPU take at the end; None on a CPU."""
        return self._measured().allocated

    @property
    def reserved(self) -> int | None:
        """Bytes that PyTorch holds of the GPU at the end, free or not; None on a CPU."""
        return self._measured().reserved

    def __str__(self) -> str:
        memory = self._memory
        if memory is None:
            return "not measured"
        parts = [f"peak {show(memory.peak, 'bytes')}, live {show(memory.live, 'bytes')}"]
        parts[0] += " above the start"
        parts += [
            f"{name} {show(size, 'bytes')}"
            for name, size in (("allocated", memory.allocated), ("reserved", memory.reserved))
            if size is not None
        ]
        return ", ".join(parts)

    def _measured(self) -> Memory:
        if self._memory is None:
            raise UnsupportedOption("a memory monitor knows its numbers once its block has ended.")
        return self._memory
