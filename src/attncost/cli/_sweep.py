"""A sweep on the command line: progress on a terminal, and nothing lost at Ctrl-C."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from attncost.cli._exit import Interrupted

if TYPE_CHECKING:
    from attncost.measure.clocks.clock import Clock
    from attncost.measure.store.store import Sample
    from attncost.measure.sweep.subject import Subject
    from attncost.measure.sweep.sweep import Plan, Progress

_REDRAW_SECONDS: Final = 0.2


def swept(
    subjects: "Sequence[Subject]",
    plan: "Plan",
    clock: "Clock",
    path: Path,
    *,
    facts: Mapping[str, str],
) -> "tuple[dict[str, Any], list[Sample]]":
    """Run a sweep into a new folder, and return its environment and samples.

    Its first row takes `facts` in: the command that repeats it, and the model. A budget that ended
    it early is among `environment["notes"]`.

    Raises:
        Interrupted: At Ctrl-C; what was measured is kept.
    """
    from attncost.measure.store.environment import environment
    from attncost.measure.store.store import Run, read
    from attncost.measure.sweep.case import Case
    from attncost.measure.sweep.sweep import check_names, sweep

    # Ask every formula and load every model, so that what cannot run is refused before anything is
    # written.
    check_names(subjects)
    for subject in subjects:
        for length in plan.lengths:
            subject.predict(Case(length=length))
        subject.prepare(Case(length=plan.lengths[0]))
    run = Run.create(path, {**facts, **environment(clock, command=facts["command"])})
    kept = 0

    def record(row: Mapping[str, Any]) -> None:
        nonlocal kept
        run.append(row)
        kept += row["kind"] == "sample" and not row["warmup"]

    try:
        with _bar() as progress:
            outcome = sweep(subjects, plan, clock=clock, record=record, progress=progress)
    except KeyboardInterrupt as interrupt:
        raise Interrupted(f"interrupted; {kept} samples are kept in {path}.") from interrupt
    found, samples = read(path)
    if outcome.spent:
        found["notes"] = [
            *found["notes"],
            f"{outcome.rounds} of {plan.rounds} rounds: the budget of {plan.budget:g} s was spent; "
            "--budget allows more.",
        ]
    return found, samples


def fresh_run() -> Path:
    """Return the name of a run that starts now."""
    from datetime import datetime

    return Path(f"attncost-run-{datetime.now():%Y%m%d-%H%M%S}")


@contextmanager
def _bar() -> "Iterator[Callable[[Progress], None]]":
    """Show progress on a terminal, and nothing anywhere else."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(12), TimeRemainingColumn())
    # A thread that redraws would be charged to the CPU time of this process: draw between cells.
    with Bar(*columns, console=Console(stderr=True), auto_refresh=False, transient=True) as bar:
        task, drawn = bar.add_task("", total=None), 0.0

        def show(progress: "Progress") -> None:
            nonlocal drawn
            if monotonic() - drawn < _REDRAW_SECONDS:
                return
            bar.update(
                task, description=progress.doing, completed=progress.done, total=progress.total
            )
            bar.refresh()
            drawn = monotonic()

        yield show
