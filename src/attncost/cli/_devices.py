"""Devices on the command line: how much memory, how fast, and how several of them share a model."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

from attncost.core.errors import ShapeError, StorageError, UnknownName

if TYPE_CHECKING:
    from attncost.cost.configuration import Work
    from attncost.cost.planning.devices import Device
    from attncost.cost.planning.sharding import Sharding
    from attncost.cost.planning.speed import Rates

_MOST: Final = 1 << 20
CALIBRATION: Final = "attncost.calibration/1"
_FASTEST: Final = 1e24  # of anything in a second
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
        return _calibrated(calibration)
    if device is None:
        return None
    kind = precision(activations)
    source = f"the peaks of the {device.title} ({kind})"
    return Rates(flops=device.peak(kind), bytes=device.bandwidth, source=source)


def _calibrated(path: Path) -> "Rates":
    from attncost.cost.planning.speed import Rates

    found = _object(path)
    if found.get("schema") != CALIBRATION:
        raise ShapeError(
            f"{path} must have the schema {CALIBRATION!r}, got {found.get('schema')!r}."
        )
    numbers = []
    for key in ("flops_per_second", "bytes_per_second"):
        value = found.get(key)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ShapeError(f"{key} of {path} must be a number, got {value!r:.40}.")
        if not 1 <= value <= _FASTEST:
            raise ShapeError(f"{key} of {path} must lie between 1 and {_FASTEST:g}.")
        numbers.append(float(value))
    return Rates(flops=numbers[0], bytes=numbers[1], source=path.name, measured=True)


def _object(path: Path) -> dict[str, object]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StorageError(
            f"{path} cannot be read ({error.strerror}): give another file."
        ) from error
    except (ValueError, RecursionError) as error:
        raise ShapeError(f"{path} is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise ShapeError(f"{path} must hold an object, got {type(found).__name__}.")
    return found
