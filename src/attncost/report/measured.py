"""The document of a run: what each cell took, in time and memory, and what to ask next."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from attncost.core.units import show
from attncost.measure.store.summary import Measured
from attncost.report.document import Column, Document, Section, Table

_COLUMNS = (
    Column("length", "tokens"),
    Column("one call", "seconds"),
    Column("95 % interval"),
    Column("peak memory", "bytes"),
    Column("samples", "exact"),
)


def run_document(
    cells: Sequence[Measured],
    *,
    run: str,
    environment: Mapping[str, Any],
    notes: Sequence[str] = (),
) -> Document:
    """Return the medians of a run, one table a subject.

    Args:
        cells: What was measured, in the order of subjects and lengths.
        run: The folder that holds the samples.
        environment: The first row of the store.
        notes: What a reader must know, such as cells that were skipped.
    """
    command = str(environment["command"])
    tables = tuple(
        Table(
            title=subject,
            columns=_COLUMNS,
            rows=tuple(_row(cell) for cell in group),
            command=command,
        )
        for subject, group in groupby(cells, lambda cell: cell.subject)
    )
    return Document(
        schema="attncost.measure/1",
        title=f"One forward call, median by {environment['clock']}",
        subtitle=(
            f"{environment['device']}, {environment['processor']}, "
            f"threads: {environment['threads']}, torch {environment['torch']}"
        ),
        command=command,
        sections=(
            *(Section(title=table.title, blocks=(table,)) for table in tables),
            Section(
                title=f"Every sample is in {run}",
                text=(*notes, f"Next: attncost fit {shlex.quote(run)}"),
            ),
        ),
        facts={
            "run": run,
            "environment": dict(environment),
            "notes": list(notes),
            "medians": [asdict(cell) for cell in cells],
        },
    )


def _row(cell: Measured) -> tuple[Any, ...]:
    ends = f"{show(cell.low, 'seconds')} to {show(cell.high, 'seconds')}"
    # Fewer samples give no interval of 95 %.
    enough = cell.rounds >= 6
    return (
        cell.length,
        cell.seconds,
        ends if enough else f"all: {ends}",
        cell.peak_bytes,
        cell.rounds,
    )
