"""Read a run: its rows in their order, checked, whatever ended the process that wrote them.

A kill takes at most the line that was being written. Such a line is left out, and a note says so,
where nothing follows it, or the row of a process that went on with the run. Anywhere else it means
that something else wrote into the file, and is an error with its number. Linear in the file.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from attncost.core.errors import ShapeError
from attncost.core.files import content
from attncost.measure.store.differences import differences
from attncost.measure.store.sample import (
    SCHEMA,
    SCHEMAS,
    Sample,
    Skipped,
    sample_of,
    skipped_of,
)

FILE: Final = "samples.jsonl"
# Bytes of a run: half a million samples.
_LONGEST: Final = 1 << 28


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Resumed:
    """Where a run was gone on with.

    Attributes:
        environment: The row, as an environment is written.
        samples: How many there were before it.
    """

    environment: dict[str, Any]
    samples: int


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """All that a run holds, each kind in the order in which it was written.

    Attributes:
        environment: Where it began.
        samples: Timings, those of the warm-up among them.
        skipped: Cells that could not be measured.
        resumed: Where it was gone on with.
        notes: What a reader should know: what the lengths cannot show, lines that were cut off,
            cells that were skipped, and in what the environment changed.
    """

    environment: dict[str, Any]
    samples: tuple[Sample, ...]
    skipped: tuple[Skipped, ...]
    resumed: tuple[Resumed, ...]
    notes: tuple[str, ...]

    @property
    def parts(self) -> Iterator[tuple[dict[str, Any], Sequence[Sample]]]:
        """Each environment, with the samples that were taken there."""
        starts = [0, *(one.samples for one in self.resumed)]
        ends = [*starts[1:], len(self.samples)]
        environments = [self.environment, *(one.environment for one in self.resumed)]
        for environment, start, end in zip(environments, starts, ends, strict=True):
            yield environment, self.samples[start:end]


def rows(path: Path) -> Rows:
    """Return all rows of a run.

    Raises:
        ShapeError: If this is no run; the message names file and line.
        StorageError: If it cannot be read.
    """
    file = path / FILE
    if not file.is_file():
        raise ShapeError(f"{path} holds no {FILE}: name a folder that `attncost measure` wrote.")
    lines = content(file, most=_LONGEST, give="name a run that can be").splitlines()
    notes: list[str] = []
    found = _whole(file, lines, notes)
    environment = _environment(file, next(found, (1, None))[1])
    notes += map(str, filter(None, [environment.get("note")]))
    samples: list[Sample] = []
    skipped: list[Skipped] = []
    resumed: list[Resumed] = []
    for number, row in found:
        try:
            one = _checked(row, environment["schema"])
        except ShapeError as error:
            raise _wrong(file, number, str(error)) from error
        if isinstance(one, Sample):
            samples.append(one)
        elif isinstance(one, Skipped):
            skipped.append(one)
            notes.append(one.note)
        else:
            resumed.append(Resumed(environment=one, samples=len(samples)))
            if differing := differences(environment, one):
                notes.append(f"from sample {len(samples) + 1:,} on: {' '.join(differing)}")
    return Rows(
        environment=environment,
        samples=tuple(samples),
        skipped=tuple(skipped),
        resumed=tuple(resumed),
        notes=tuple(notes),
    )


def _checked(row: object, schema: str) -> Sample | Skipped | dict[str, Any]:
    if isinstance(row, dict):
        kind = row.get("kind")
        if kind == "sample":
            return sample_of(row, schema)
        if kind == "skipped":
            return skipped_of(row)
        if kind == "resumed":
            return row
    raise ShapeError("a row of kind sample, skipped or resumed")


def _whole(file: Path, lines: Sequence[bytes], notes: list[str]) -> Iterator[tuple[int, Any]]:
    """Yield the lines that are JSON, and note those that a kill cut off."""
    torn: list[int] = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):  # also of a character that was cut in two
            torn.append(number)
            continue
        if torn and not (isinstance(row, Mapping) and row.get("kind") == "resumed"):
            raise _wrong(file, torn[0], "JSON")
        notes += map(_cut_off, torn)
        torn = []
        yield number, row
    notes += map(_cut_off, torn)


def _cut_off(number: int) -> str:
    return f"line {number} of {FILE} was cut off and is left out."


def _environment(file: Path, row: object) -> dict[str, Any]:
    """Return the first row, if it is one that this attncost can read."""
    schema = row.get("schema") if isinstance(row, dict) else None
    if isinstance(row, dict) and schema in SCHEMAS:
        return row
    family, _, version = str(schema).rpartition("/")
    if family == SCHEMA.rpartition("/")[0] and version.isdecimal():
        raise ShapeError(
            f"{file}, line 1: is of schema {schema}, and this attncost knows no later one than "
            f"{SCHEMA}: install the attncost that wrote it, or a later one."
        )
    raise _wrong(file, 1, f"the environment, with the schema {SCHEMA}")


def _wrong(file: Path, number: int, wanted: str) -> ShapeError:
    return ShapeError(f"{file}, line {number}: must be {wanted}.")
