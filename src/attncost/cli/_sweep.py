"""A sweep on the command line: progress on a terminal, and nothing lost at Ctrl-C."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import typer

from attncost.cli._exit import Interrupted
from attncost.cli._progress import bar, held
from attncost.core.errors import ShapeError

if TYPE_CHECKING:
    from attncost.measure.clocks.interface import Clock
    from attncost.measure.store.sample import Sample
    from attncost.measure.store.store import Run
    from attncost.measure.subjects.subject import Subject
    from attncost.measure.sweep.past import Past
    from attncost.measure.sweep.sweep import Outcome
    from attncost.measure.sweep.task import Task


# What a report shows of a first row, beside what was asked for.
_SHOWN: Final = ("command", "clock", "clock_reason", "device", "processor", "threads", "torch")


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Swept:
    """What a sweep left behind.

    Attributes:
        path: The folder of its samples.
        environment: The first row of that folder; `notes` says what a reader should know.
        samples: Every timing.
        outcome: How it ended.
    """

    path: Path
    environment: dict[str, Any]
    samples: "list[Sample]"
    outcome: "Outcome"


def swept(task: "Task", path: Path, *, facts: Mapping[str, str]) -> Swept:
    """Run a sweep into a new folder.

    Args:
        task: What to measure.
        path: The folder.
        facts: What its first row takes in: the command that repeats it, and the model.

    Raises:
        Interrupted: At Ctrl-C; what was measured is kept.
    """
    from attncost.measure.clocks.clock import clock_for
    from attncost.measure.store.store import Run, check_new
    from attncost.measure.sweep.past import Past
    from attncost.measure.sweep.sweep import check_names

    check_new(path)

    clock, subjects = clock_for(task.plan.device, max(task.plan.threads)), task.named()
    check_names(subjects)
    task.check(subjects)
    with held(task.plan.device):
        run = Run.create(path, {**facts, **task.written(), **_here(task, clock, facts["command"])})
        return _ran(task, clock, subjects, run=run, past=Past())


def resumed(path: Path, *, across_environments: bool) -> Swept:
    """Go on with a run that was stopped, whatever stopped it.

    Args:
        path: Its folder, or the file of its samples.
        across_environments: Whether it may have begun where times are not the same.

    Raises:
        Interrupted: At Ctrl-C; what was measured is kept.
        ShapeError: If it is no run that can be gone on with, or not here.
    """
    from attncost.measure.clocks.clock import clock_for
    from attncost.measure.store.differences import differences
    from attncost.measure.store.reading import FILE, rows
    from attncost.measure.store.store import Run
    from attncost.measure.sweep.past import Past

    path = path.parent if path.name == FILE else path
    begun = rows(path).environment
    task = _asked(path, begun)
    subjects = task.named()
    if found_before := _finished(path, task, subjects):
        return found_before
    clock = clock_for(task.plan.device, max(task.plan.threads))
    here = _here(task, clock, begun["command"])
    if (found := differences(begun, here)) and not across_environments:
        raise ShapeError(
            f"{path} was begun in another environment: {' '.join(found)} Measure anew, or add "
            "--across-environments."
        )
    with held(task.plan.device):
        # Whoever was waited for may have been at it.
        if found_before := _finished(path, task, subjects):
            return found_before
        run = Run.reopen(path)
        past = Past.of(rows(path))
        run.append({"kind": "resumed", **here})
        return _ran(task, clock, subjects, run=run, past=past)


def fresh_run() -> Path:
    """Return the name of a run that starts now."""
    from datetime import datetime

    return Path(f"attncost-run-{datetime.now():%Y%m%d-%H%M%S}")


def _asked(path: Path, begun: Mapping[str, Any]) -> "Task":
    """Read what was asked for, and that the rest of a first row is there."""
    from attncost.measure.sweep.task import Task

    if missing := [name for name in _SHOWN if name not in begun]:
        raise ShapeError(
            f"{path}: its first row does not say {', '.join(missing)}, so it cannot be gone on "
            "with: measure into a new folder."
        )
    if not isinstance(begun["command"], str):
        raise ShapeError(
            f"{path}: the command in its first row must be a text, got {begun['command']!r:.60}: "
            "measure into a new folder."
        )
    try:
        return Task.of(begun)
    except ShapeError as error:
        raise ShapeError(f"{path}: {error}") from error


def _finished(path: Path, task: "Task", subjects: "tuple[Subject, ...]") -> Swept | None:
    """Return what a run holds if nothing of it is left to do, and say so."""
    from attncost.measure.store.reading import rows
    from attncost.measure.store.store import read
    from attncost.measure.sweep.past import Past
    from attncost.measure.sweep.sweep import finished

    outcome = finished(subjects, task.plan, Past.of(rows(path)))
    if outcome is None:
        return None
    typer.echo(f"attncost: {path} is finished: nothing is measured.", err=True)
    environment, samples = read(path)
    return Swept(path=path, environment=environment, samples=samples, outcome=outcome)


def _here(task: "Task", clock: "Clock", again: str) -> dict[str, Any]:
    from attncost.measure.store.environment import environment

    return environment(clock, command=again, threads=max(task.plan.threads))


def _ran(
    task: "Task", clock: "Clock", subjects: "tuple[Subject, ...]", *, run: "Run", past: "Past"
) -> Swept:
    from attncost.measure.store.store import read
    from attncost.measure.sweep.sweep import Setup, sweep

    kept = len(past.samples)

    def record(row: Mapping[str, Any]) -> None:
        nonlocal kept
        run.append(row)
        kept += row["kind"] == "sample" and not row["warmup"]

    try:
        with bar() as progress:
            setup = Setup(runner=task.runner, progress=progress, past=past)
            outcome = sweep(subjects, task.plan, clock=clock, record=record, setup=setup)
    except KeyboardInterrupt as interrupt:
        raise Interrupted(
            f"interrupted; {kept} samples are kept in {run.path}, and attncost measure --resume "
            f"{shlex.quote(str(run.path))} goes on."
        ) from interrupt
    environment, samples = read(run.path)
    return Swept(path=run.path, environment=environment, samples=samples, outcome=outcome)
