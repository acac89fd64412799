"""The document of a run: what each cell took, in time and memory, and what to ask next."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from attncost.core.units import show
from attncost.measure.store.summary import FEWEST, Measured
from attncost.measure.sweep.sweep import Outcome
from attncost.report.document import Column, Document, Section, Table

_COLUMNS = (
    Column("length", "tokens"),
    Column("one call", "seconds"),
    Column("95 % interval"),
    Column("peak memory", "bytes"),
    Column("samples", "exact"),
)


def run_document(
    series: Mapping[str, Sequence[Measured]],
    *,
    run: str,
    environment: Mapping[str, Any],
    outcome: Outcome,
) -> Document:
    """Return the medians of a run, one table a series.

    Args:
        series: What was measured, by the name of its series and the length.
        run: The folder that holds the samples.
        environment: The first row of the store; its `notes` are what a reader must know, such as
            cells that were skipped.
        outcome: How it ended.
    """
    command, notes = str(environment["command"]), list(environment.get("notes", ()))
    tables = tuple(
        Table(
            title=name,
            columns=_COLUMNS,
            rows=tuple(_row(cell) for cell in cells),
            command=command,
        )
        for name, cells in series.items()
        if cells
    )
    return Document(
        schema="attncost.measure/1",
        title=f"Time of one call, median by {environment['clock']}",
        subtitle=(
            f"{environment['device']}, {environment['processor']}, "
            f"threads: {environment['threads']}, torch {environment['torch']}"
        ),
        command=command,
        sections=(
            *(Section(title=table.title, blocks=(table,)) for table in tables),
            Section(
                title=f"Every sample is in {run}",
                text=(
                    *notes,
                    f"The clock is {environment['clock']}: {environment['clock_reason']}.",
                    ended(outcome, environment),
                    _next(run, tables),
                ),
            ),
        ),
        facts={
            "run": run,
            "environment": dict(environment),
            "notes": notes,
            "outcome": asdict(outcome),
            "medians": [
                {"series": name, **asdict(cell)} for name, cells in series.items() for cell in cells
            ],
        },
    )


def ended(outcome: Outcome, environment: Mapping[str, Any]) -> str:
    """Say what ended a sweep, and what would have let it go on.

    Args:
        outcome: How it ended.
        environment: The first row of the store, with the plan in it.
    """
    plan, rounds = environment["plan"], f"{outcome.rounds:,} rounds"
    width = outcome.width
    known = "" if width is None else f", exponents are known to intervals {width:.2g} wide or less"
    if outcome.ended == "nothing":
        return "No cell could run."
    if outcome.ended == "enough":
        return f"{rounds} were enough{known}: --enough {plan['enough']:g} was asked for."
    if outcome.ended == "budget":
        return (
            f"{outcome.rounds:,} of {plan['rounds']:,} rounds: the budget of "
            f"{plan['budget']:g} s was spent{known}; --budget allows more."
        )
    return f"All {rounds} were taken{known}; --rounds allows more."


def _next(run: str, tables: Sequence[Table]) -> str:
    if not tables:
        return "Next: a shorter length or a smaller batch."
    return f"Next: attncost fit {shlex.quote(run)}"


def _row(cell: Measured) -> tuple[Any, ...]:
    ends = f"{show(cell.low, 'seconds')} to {show(cell.high, 'seconds')}"
    # Fewer samples give no interval of 95 %.
    enough = cell.rounds >= FEWEST
    return (
        cell.length,
        cell.seconds,
        ends if enough else f"all: {ends}",
        cell.peak_bytes,
        cell.rounds,
    )
