"""A file of what a machine was measured to do: written by `measure --calibrate`, read by `plan`.

attncost.calibration/1   flops_per_second, bytes_per_second
attncost.calibration/3   both, and the tables that times are predicted from; /2 lacked what packed
                         rows take
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attncost.cli._progress import bar
from attncost.core.errors import ShapeError, StorageError
from attncost.core.files import words

if TYPE_CHECKING:
    from attncost.cost.planning.speed import Rates
    from attncost.measure.speed.calibration import Calibration
    from attncost.report.document import Document

CALIBRATION: Final = "attncost.calibration/1"
_WHOLE: Final = ("attncost.calibration/3", "attncost.calibration/2")
# Bytes of such a file; one with all tables has 100,000.
_LONGEST: Final = 1 << 24
_FASTEST: Final = 1e24  # of anything in a second


def calibrated(path: Path, *, command: str) -> "Document":
    """Measure this machine, write what was found, and return what there is to say of it.

    Args:
        path: The file, which must not be there yet.
        command: What repeats it.

    Raises:
        StorageError: If the file is there or cannot be written; nothing was measured then.
    """
    from attncost.measure.clocks.clock import clock_for
    from attncost.measure.speed.calibrate import calibrate
    from attncost.measure.sweep.visits import Progress
    from attncost.report.calibrated import calibration_document

    # A file that cannot be written is found out before half a minute is spent.
    with _new(path) as write, bar() as show:

        def progress(share: float) -> None:
            show(Progress("calibrating", share, 1.0))

        found = calibrate(clock_for("cpu"), command=command, progress=progress)
        write(json.dumps(found.as_dict(), indent=1) + "\n")
    return calibration_document(found, path=str(path), command=command)


def calibration_in(path: Path) -> "Calibration":
    """Return the calibration in a file.

    Raises:
        ShapeError: If the file holds something else, or rates alone.
        StorageError: If it cannot be read.
    """
    from attncost.measure.speed.calibration import calibration

    found = _object(path)
    if found.get("schema") == CALIBRATION:
        raise ShapeError(
            f"{path} holds two rates, and times need tables: write a new one with attncost measure "
            "--calibrate."
        )
    return calibration(found, source=str(path))


def rates_in(path: Path) -> "Rates":
    """Return the two rates in a file of either kind.

    Raises:
        ShapeError: If the file holds something else.
        StorageError: If it cannot be read.
    """
    from attncost.cost.planning.speed import Rates

    found = _object(path)
    if found.get("schema") not in (CALIBRATION, *_WHOLE):
        raise ShapeError(
            f"{path} must have the schema {CALIBRATION!r}, got {found.get('schema')!r}; "
            f"{_WHOLE[0]!r} is read as well."
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


def _object(path: Path) -> dict[str, Any]:
    text = words(path, most=_LONGEST, give="give a file that attncost measure --calibrate wrote")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ShapeError(f"{path} is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise ShapeError(f"{path} must hold an object, got {type(found).__name__}.")
    return found


@contextmanager
def _new(path: Path) -> Iterator[Callable[[str], None]]:
    """Give what writes a new file; nothing is left behind if nothing was written."""
    written = False
    try:
        file = path.open("x", encoding="utf-8")
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written ({error.strerror}): give the name of a new file."
        ) from error

    def write(text: str) -> None:
        nonlocal written
        try:
            file.write(text)
            file.flush()
        except OSError as error:
            raise StorageError(f"{path} cannot be written ({error.strerror}).") from error
        written = True

    try:
        with file:
            yield write
    finally:
        if not written:
            path.unlink(missing_ok=True)
