"""What a run holds already, so that a sweep which was stopped goes on where it was.

A sample that was written is never taken again, and a cell that was skipped stays so. How many calls
make a sample, and what one holds, is what the rows say: asked again, it would differ a little, and
one cell would be two.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import final

from attncost.measure.store.reading import Rows
from attncost.measure.store.sample import Sample, Skipped
from attncost.measure.subjects.case import Case
from attncost.measure.sweep.cell import Known
from attncost.measure.sweep.runner import Key


@final
@dataclass(frozen=True, slots=True)
class Past:
    """The rows of a run, by cell.

    Attributes:
        samples: What was taken, the warm-up left out.
        skipped: The cells that could not run.
        seconds: What all of it took on the wall, the warm-up included.
    """

    samples: tuple[tuple[Key, Sample], ...] = ()
    skipped: Mapping[Key, Skipped] = field(default_factory=dict)
    seconds: float = 0.0

    @classmethod
    def of(cls, rows: Rows) -> "Past":
        """Read a run.

        Raises:
            UnknownName: If a row has a mode, type or device that nobody knows.
        """
        return cls(
            tuple((key(row), row) for row in rows.samples if not row.warmup),
            {key(row): row for row in rows.skipped},
            sum(row.repeats * row.wall_seconds for row in rows.samples),
        )

    def known(self) -> dict[Key, Known]:
        """Return what was found out of each cell that was sampled."""
        return {cell: Known(repeats=row.repeats, peak=row.peak_bytes) for cell, row in self.samples}


def key(row: Sample | Skipped) -> Key:
    """Return the cell that a row is of."""
    case = Case(**{axis.name: getattr(row, axis.name) for axis in fields(Case)})
    return row.subject, case
