"""The document of a run: what each cell took, in time and memory, and what to ask next."""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from attncost.core.units import show
from attncost.measure.laws.series import series
from attncost.measure.store.differences import cautions
from attncost.measure.store.sample import Sample
from attncost.measure.store.summary import FEWEST, Measured, measured
from attncost.measure.sweep.sweep import Outcome
from attncost.report.document import Column, Document, Section, Table

_COLUMNS = (
    Column("length", "tokens"),
    Column("one call", "seconds"),
    Column("95 % interval"),
    Column("peak memory", "bytes"),
    Column("samples", "exact"),
)


def medians(samples: Sequence[Sample]) -> dict[str, tuple[Measured, ...]]:
    """Return the cells of each series, in the order in which series were first sampled."""
    first = {id(sample): place for place, sample in enumerate(samples)}
    named = sorted(series(samples).items(), key=lambda one: first[id(one[1][0])])
    return {name: measured(rows, series=name) for name, rows in named}


def run_document(
    cells: Mapping[str, Sequence[Measured]],
    *,
    run: str,
    environment: Mapping[str, Any],
    outcome: Outcome,
) -> Document:
    """Return the medians of a run, one table a series.

    Args:
        cells: What was measured, by the name of its series and the length.
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
            rows=tuple(map(_row, found)),
            command=command,
        )
        for name, found in cells.items()
        if found
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
                    *cautions(environment),
                    *_waited(cells.values()),
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
                {"series": name, **asdict(cell)} for name, found in cells.items() for cell in found
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


def _waited(cells: Iterable[Sequence[Measured]]) -> Iterator[str]:
    """Say how many samples waited for a core for long, if any did."""
    every = [cell for found in cells for cell in found]
    number = sum(cell.disturbed for cell in every)
    if number:
        yield (
            f"{number:,} of {sum(cell.rounds for cell in every):,} samples waited for a core for "
            "more than 5 % of their time, which CPU time leaves out and wall time does not."
        )


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
