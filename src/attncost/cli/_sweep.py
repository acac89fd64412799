"""A sweep on the command line: progress on a terminal, and nothing lost at Ctrl-C."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

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
    from attncost.measure.store.store import Run
    from attncost.measure.sweep.past import Past
    from attncost.measure.sweep.sweep import check_names

    clock, subjects = clock_for(task.plan.device, max(task.plan.threads)), task.named()
    check_names(subjects)
    task.check(subjects)
    with held(task.plan.device):
        run = Run.create(path, {**facts, **task.written(), **_here(task, clock, facts["command"])})
        return _ran(task, clock, subjects, run=run, past=Past())


def resumed(path: Path, *, across_environments: bool) -> Swept:
    """Go on with a run that was stopped, whatever stopped it.

    Args:
        path: Its folder.
        across_environments: Whether it may have begun where times are not the same.

    Raises:
        Interrupted: At Ctrl-C; what was measured is kept.
        ShapeError: If it is no run that can be gone on with, or not here.
    """
    from attncost.measure.clocks.clock import clock_for
    from attncost.measure.store.differences import differences
    from attncost.measure.store.reading import rows
    from attncost.measure.store.store import Run
    from attncost.measure.sweep.past import Past
    from attncost.measure.sweep.task import Task

    begun = rows(path).environment
    try:
        task = Task.of(begun)
    except ShapeError as error:
        raise ShapeError(f"{path}: {error}") from error
    clock, subjects = clock_for(task.plan.device, max(task.plan.threads)), task.named()
    here = _here(task, clock, begun["command"])
    if (found := differences(begun, here)) and not across_environments:
        raise ShapeError(
            f"{path} was begun in another environment: {' '.join(found)} Measure anew, or add "
            "--across-environments."
        )
    with held(task.plan.device):
        run = Run.reopen(path)
        past = Past.of(rows(path))
        run.append({"kind": "resumed", **here})
        return _ran(task, clock, subjects, run=run, past=past)


def fresh_run() -> Path:
    """Return the name of a run that starts now."""
    from datetime import datetime

    return Path(f"attncost-run-{datetime.now():%Y%m%d-%H%M%S}")


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
