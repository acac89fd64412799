"""One row of a run: a timing, or a cell that could not be timed, and how JSON becomes it.

What a file may hold is told by the schema in its first line:

    attncost.samples/1   length, batch, dtype, times, peak bytes and FLOPs of one thread, forward
    attncost.samples/2   also threads, mode, device, the bytes that attention moves, and what the
                         operating system counted meanwhile; and `resumed` rows

A row of schema 1 gets what was so for all of them, and 0 where nothing was counted; a row of schema
2 must have every field. Fields that are not known here are passed over, so adding one keeps the
schema's name.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Final, final

from attncost.core.errors import ShapeError

SCHEMA: Final = "attncost.samples/2"
SCHEMAS: Final = ("attncost.samples/1", SCHEMA)
# Of these schema 1 knew nothing; in its rows they are 0, which says nothing.
UNKNOWN_TO_1: Final = frozenset(
    {"bytes", "cpu_seconds", "waited_seconds", "minor_faults", "major_faults", "switches"}
)

# What tells series of one subject apart, beside the length, and how it is written.
AXES: Final[Mapping[str, str]] = {
    "batch": "batch {}",
    "dtype": "{}",
    "threads": "threads {}",
    "mode": "{}",
    "device": "{}",
}


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
@dataclass(frozen=True, kw_only=True, slots=True)
class Skipped:
    """A cell that could not be measured.

    Attributes:
        subject: What should have run.
        length: Tokens of a sequence.
        reason: Why it did not, in words.
        cause: The same in a word, such as `memory`; empty if it was not said.
        labels: What tells the subject from the others.
        batch: Sequences in a call.
        dtype: Type of one element.
        threads: Of the CPU that PyTorch might use.
        mode: `forward`, `training` or `decode`.
        device: `cpu` or `cuda`.
    """

    subject: str
    length: int
    reason: str
    cause: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    batch: int = 1
    dtype: str = "float32"
    threads: int = 1
    mode: str = "forward"
    device: str = "cpu"

    @property
    def note(self) -> str:
        """What a reader should know of it, in a line.

        >>> Skipped(subject="full", length=8192, batch=4, reason="too large.", cause="memory").note
        'full, batch 4 at 8,192 (memory): too large.'
        """
        cause = f" ({self.cause})" if self.cause else ""
        return f"{series_of(self)} at {self.length:,}{cause}: {self.reason}"


# What JSON may have for a field of each type; seconds without a fraction are a whole number there.
_HELD: Final[Mapping[Any, tuple[type, ...]]] = {
    bool: (bool,),
    str: (str,),
    int: (int,),
    float: (float, int),
}
_LABELS: Final = (dict,)
_NUMBERS: Final = ((int,), (float, int))
# Beyond every whole number that was counted, and well within what a float holds.
_MOST: Final = 10**30
_SAMPLE: Final = {one.name: _HELD.get(one.type, _LABELS) for one in fields(Sample)}
_SKIPPED: Final = {one.name: _HELD.get(one.type, _LABELS) for one in fields(Skipped)}
_SINCE_2: Final = {one.name: one.default for one in fields(Sample) if one.default is not MISSING}
_USUAL: Final = {one.name: one.default for one in fields(Skipped) if one.name in AXES}
# Characters of a wrong value that a message repeats.
_SHOWN: Final = 60
_HALVES: Final = re.compile("[\ud800-\udfff]")
_ALWAYS_SAID: Final = frozenset({"subject", "length", "reason"})


def series_of(row: Sample | Skipped) -> str:
    """Return the name of the series that a row is of: its subject, and what is not the usual."""
    return ", ".join(filter(None, (row.subject, unusual(row))))


def unusual(where: object) -> str:
    """Return what tells a row, or a case, from the usual, its length left aside.

    >>> unusual(Skipped(subject="full", length=64, reason="no.", batch=4, mode="training"))
    'batch 4, training'
    """
    values = {axis: getattr(where, axis) for axis in AXES}
    said = (AXES[axis].format(value) for axis, value in values.items() if value != _USUAL[axis])
    return ", ".join(said)


def sample_of(row: Mapping[str, Any], schema: str) -> Sample:
    """Return the sample that a row holds.

    Raises:
        ShapeError: If a field is missing, or holds what it cannot.
    """
    if schema == SCHEMAS[0]:
        row = {**_SINCE_2, **row}
    return Sample(**_checked(row, _SAMPLE))


def skipped_of(row: Mapping[str, Any]) -> Skipped:
    """Return the cell that a row says was skipped; what tells it from the usual may be left out.

    Raises:
        ShapeError: If a field is missing, or holds what it cannot.
    """
    given = {name: held for name, held in _SKIPPED.items() if name in row or name in _ALWAYS_SAID}
    return Skipped(**_checked(row, given))


def _checked(row: Mapping[str, Any], wanted: Mapping[str, tuple[type, ...]]) -> dict[str, Any]:
    """Return the fields as they are; Python takes a truth value for a number, and this does not."""
    found = {}
    for name, held in wanted.items():
        value: Any = row.get(name)
        fits = type(value) in held
        if fits and held in _NUMBERS:
            fits = 0 <= value < (_MOST if type(value) is int else math.inf)
        elif fits and held is _LABELS:
            fits = all(map(_is_text, (*value, *value.values())))
        elif fits:
            fits = held != (str,) or _is_text(value)
        if not fits:
            raise ShapeError(f"a {row['kind']} with {name}, got {value!r:.{_SHOWN}}")
        found[name] = value
    return found


def _is_text(value: object) -> bool:
    """Say whether a value is a text that can be written; JSON may hold halves of characters."""
    return type(value) is str and not _HALVES.search(value)
