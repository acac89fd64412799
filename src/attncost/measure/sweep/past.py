"""What a run holds already, so that a sweep which was stopped goes on where it was.

A sample that was written is never taken again, and a cell that was skipped stays so. How many calls
make a sample, and what one holds, is what the rows say: asked again, it would differ a little, and
one cell would be two.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast, final

from attncost.measure.store.reading import Rows
from attncost.measure.store.sample import Sample, Skipped
from attncost.measure.sweep.bench import Key
from attncost.measure.sweep.case import Case, Mode
from attncost.measure.sweep.cell import Known


@final
@dataclass(frozen=True, slots=True)
class Past:
    """The rows of a run, by cell.

    Attributes:
        samples: What was taken, the warm-up left out.
        skipped: Why each cell that could not run could not.
        seconds: What all of it took on the wall, the warm-up included.
    """

    samples: tuple[tuple[Key, Sample], ...] = ()
    skipped: Mapping[Key, str] = field(default_factory=dict)
    seconds: float = 0.0

    @classmethod
    def of(cls, rows: Rows) -> "Past":
        """Read a run.

        Raises:
            UnknownName: If a row has a mode, type or device that nobody knows.
        """
        return cls(
            tuple((key(row), row) for row in rows.samples if not row.warmup),
            {key(row): row.reason for row in rows.skipped},
            sum(row.repeats * row.wall_seconds for row in rows.samples),
        )

    def known(self) -> dict[Key, Known]:
        """Return what was found out of each cell that was sampled."""
        return {cell: Known(repeats=row.repeats, peak=row.peak_bytes) for cell, row in self.samples}

    def visited(self) -> set[tuple[Key, int]]:
        """Return which cells each round has visited."""
        return {(cell, row.round) for cell, row in self.samples}


def key(row: Sample | Skipped) -> Key:
    """Return the cell that a row is of."""
    case = Case(
        length=row.length,
        batch=row.batch,
        dtype=row.dtype,
        threads=row.threads,
        mode=cast("Mode", row.mode),
        device=row.device,
    )
    return row.subject, case
