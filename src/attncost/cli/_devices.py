"""Devices on the command line: how much memory, how fast, and how several of them share a model."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

from attncost.cli._calibration import rates_in
from attncost.core.errors import ShapeError, UnknownName

if TYPE_CHECKING:
    from attncost.cost.configuration import Work
    from attncost.cost.planning.devices import Device
    from attncost.cost.planning.sharding import Sharding
    from attncost.cost.planning.speed import Rates

_MOST: Final = 1 << 20
_STAGES: Final = {"data": 0, "zero1": 1, "zero2": 2, "fsdp": 3}


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Shared:
    """How devices share a model, as it was typed."""

    gpus: int
    share: str | None
    sequence: bool

    def __post_init__(self) -> None:
        if not 1 <= self.gpus <= _MOST:
            raise ShapeError(f"--gpus must lie between 1 and {_MOST:,}, got {self.gpus:,}.")
        if self.share is not None and self.share not in ("tensor", *_STAGES):
            raise UnknownName("--share", self.share, ("tensor", *_STAGES))
        if self.gpus == 1 and (self.share or self.sequence):
            raise ShapeError("--share and --sequence-parallel need --gpus of at least 2.")

    def of(self, work: "Work") -> "Sharding":
        """Return how they share it at a work: layers in serving, the rest in training."""
        from attncost.cost.planning.sharding import Sharding

        share = self.share or ("fsdp" if work == "training" else "tensor")
        if share == "tensor":
            return Sharding(tensor=self.gpus, sequence=self.sequence)
        if self.sequence:
            raise ShapeError(
                f"--sequence-parallel splits what tensor parallel leaves whole, {work} is shared "
                f"by {share}: add --share tensor."
            )
        return Sharding(data=self.gpus, zero=_STAGES[share])


def named(text: str) -> "Device | None":
    """Return the device that an amount of memory names, if it names one."""
    from attncost.cost.planning.devices import device

    try:
        return device(text)
    except UnknownName:
        return None


def rates(device: "Device | None", calibration: Path | None, *, activations: str) -> "Rates | None":
    """Return what a device does in a second, by its vendor or as it was measured.

    Args:
        device: The device, if it has a name.
        calibration: A file with what was measured, if there is one.
        activations: The precision of what is multiplied.

    Raises:
        ShapeError: If the file holds something else.
        StorageError: If it cannot be read.
    """
    from attncost.cost.planning.precision import precision
    from attncost.cost.planning.speed import Rates

    if calibration is not None:
        return rates_in(calibration)
    if device is None:
        return None
    kind = precision(activations)
    source = f"the peaks of the {device.title} ({kind})"
    return Rates(flops=device.peak(kind), bytes=device.bandwidth, source=source)
