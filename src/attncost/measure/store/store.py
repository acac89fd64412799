"""A run on disk: a folder with one JSON line a row, which only ever grows.

Line 1 of `samples.jsonl` is the environment, every other a sample or a cell that was skipped. Each
is written and closed at once, so that whatever ends the process takes at most the last line, and
a reader leaves out a last line that was cut off. Two processes must not write one run.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final, final

from attncost.core.errors import ShapeError, StorageError

SCHEMA: Final = "attncost.samples/2"
_READ: Final = ("attncost.samples/1", SCHEMA)
_FILE: Final = "samples.jsonl"


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """One timing, with everything needed to repeat it.

    Attributes:
        subject: What ran.
        labels: What tells it from the other subjects.
        length: Tokens of a sequence.
        batch: Sequences in a call.
        dtype: Type of one element.
        round: Which visit of all cells it belongs to.
        warmup: Whether it was taken to get ready, and proves nothing.
        repeats: Calls that were timed together.
        seconds: Time of one call by the clock that the environment names.
        wall_seconds: Time of one call by the clock on the wall.
        peak_bytes: The most memory that one call held at once.
        linear_flops: FLOPs of the formula that grow with the length alone.
        core_flops: FLOPs of the formula between queries and keys.
        bytes: Bytes that attention's products move, by formula.
        threads: Of the CPU that PyTorch might use.
        mode: `forward`, `training` or `decode`.
        device: `cpu` or `cuda`.
        cpu_seconds: Time of all threads on a core, a call.
        waited_seconds: Time that threads were ready and had no core, a call.
        minor_faults: Pages that a call mapped without reading a disk.
        major_faults: Pages that a call read from one.
        switches: How often a thread left its core in a call.
    """

    subject: str
    labels: Mapping[str, str]
    length: int
    batch: int
    dtype: str
    round: int
    warmup: bool
    repeats: int
    seconds: float
    wall_seconds: float
    peak_bytes: int
    linear_flops: int
    core_flops: int
    # From here on schema 1 said nothing, and this was so, or not known.
    bytes: int = 0
    threads: int = 1
    mode: str = "forward"
    device: str = "cpu"
    cpu_seconds: float = 0.0
    waited_seconds: float = 0.0
    minor_faults: float = 0.0
    major_faults: float = 0.0
    switches: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class Run:
    """A run that rows are added to.

    Attributes:
        path: Its folder.
    """

    path: Path

    @classmethod
    def create(cls, path: Path, environment: Mapping[str, Any]) -> "Run":
        """Make the folder and write the environment.

        Raises:
            StorageError: If there is something at that path, or it cannot be written.
        """
        try:
            path.mkdir(parents=True, exist_ok=True)
            taken = any(path.iterdir())
        except FileExistsError:
            taken = True
        except OSError as error:
            raise _unwritable(path, error) from error
        if taken:
            raise StorageError(
                f"{path} exists already: choose another name, or remove it; a run is never "
                "overwritten."
            )
        run = cls(path)
        run.append({"schema": SCHEMA, "kind": "environment", **environment})
        return run

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one row to the end.

        Raises:
            StorageError: If the disk is full or the folder gone; all earlier rows are kept.
        """
        try:
            with (self.path / _FILE).open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise _unwritable(self.path, error) from error


def read(path: Path) -> tuple[dict[str, Any], list[Sample]]:
    """Return the environment and the samples of a run, in the order in which they were taken.

    What a reader should know beside them stands in `environment["notes"]`: a last line that was
    cut off, and cells that were skipped.

    Raises:
        ShapeError: If this is no run; the message names file and line.
    """
    file = path / _FILE
    if not file.is_file():
        raise ShapeError(f"{path} holds no {_FILE}: name a folder that `attncost measure` wrote.")
    rows, notes = _rows(file)
    if not rows or not isinstance(rows[0], dict) or rows[0].get("schema") not in _READ:
        raise _wrong(file, 1, f"the environment, with the schema {SCHEMA}")
    samples = []
    for number, row in enumerate(rows[1:], start=2):
        kind = row.get("kind") if isinstance(row, dict) else None
        if kind == "sample":
            samples.append(_sample(file, number, row))
        elif kind == "skipped":
            notes.append(f"{row.get('subject')} at {row.get('length')}: {row.get('reason')}")
        else:
            raise _wrong(file, number, "a row of kind sample or skipped")
    return {**rows[0], "notes": notes}, samples


def _rows(file: Path) -> tuple[list[Any], list[str]]:
    text = file.read_text(encoding="utf-8", errors="replace")
    rows: list[Any] = []
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError as error:
            if number == len(lines) > 1 and not text.endswith("\n"):
                return rows, [f"line {number} of {_FILE} was cut off and is left out."]
            raise _wrong(file, number, "JSON") from error
    return rows, []


def _sample(file: Path, number: int, row: Mapping[str, Any]) -> Sample:
    found = {field.name: row.get(field.name, field.default) for field in fields(Sample)}
    for field in fields(Sample):
        if not _fits(found[field.name], field.type):
            raise _wrong(file, number, f"a sample with {field.name}, got {row.get(field.name)!r}")
    return Sample(**found)


def _fits(value: object, wanted: object) -> bool:
    """Say whether JSON gave what a field holds; a truth value is no number."""
    if isinstance(value, bool | str):
        return type(value) is wanted
    if isinstance(value, int | float):
        # Seconds without a fraction are written as a whole number.
        held = wanted is float or (wanted is int and isinstance(value, int))
        return held and 0 <= value < math.inf
    return isinstance(value, dict) and wanted not in (bool, str, int, float)


def _wrong(file: Path, number: int, wanted: str) -> ShapeError:
    return ShapeError(f"{file}, line {number}: must be {wanted}.")


def _unwritable(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path} cannot be written ({error.strerror or error}): name a folder that can be."
    )
