"""Pictures of a trained comparison: quality over cost, and loss over steps."""

from collections.abc import Callable
from typing import Final

from attncost.draw.chart import MOST_SERIES, Axis, Chart, Point, Series
from attncost.report.document import Column, Figure, Table
from attncost.report.quality.task_words import ordered, unit
from attncost.train.quality.tasks.run import Run
from attncost.train.quality.tasks.study import Judged, Study

# Steps of which a table tells the loss.
_TOLD: Final = 5


def shown(study: Study) -> tuple[Judged, ...]:
    """Return as many as a chart can tell apart, the best first after the base."""
    return ordered(study)[:MOST_SERIES]


def by_flops(study: Study, table: Table) -> Figure:
    """Return quality over the FLOPs of attention, beside a table of the same."""
    chart = _quality(
        study,
        Axis(label="executed FLOPs of attention", unit="flops"),
        lambda one: one.price.executed,
    )
    return Figure(chart, table)


def by_time(study: Study, table: Table) -> Figure:
    """Return quality over the time of a forward pass, beside a table of the same.

    A time is that of the base times the ratio to it, as the front is judged by.
    """
    base = study.base.time.seconds
    chart = _quality(
        study,
        Axis(label="time of a forward pass", unit="seconds"),
        lambda one: base * one.time.told,
    )
    return Figure(chart, table)


def _quality(study: Study, x: Axis, cost: Callable[[Judged], float]) -> Chart:
    task = study.asked.task
    better = "higher" if study.more_is_better else "lower"
    return Chart(
        title=f"{task.metric.capitalize()} over {x.label}; {better} and further left is better",
        description=(
            f"The mean {task.metric} of each attention over {x.label}, with its 95 % interval over "
            f"{study.asked.seeds} seeds. {better.capitalize()} is better."
        ),
        x=x,
        y=Axis(label=task.metric, unit=unit(task), log=False),
        series=tuple(
            Series(
                one.name,
                (Point(cost(one), one.score.value, one.score.low, one.score.high),),
                style="markers",
            )
            for one in shown(study)
        ),
    )


def curves(study: Study, command: str) -> Figure | None:
    """Return the loss over steps, one line a run; nothing if no run had a finite loss."""
    series = [line for one in shown(study) for line in _lines(one)]
    if not any(line.name for line in series):
        return None
    chart = Chart(
        title="Loss while training: one line a seed",
        description="Training loss of every run over steps; runs of one attention share a colour.",
        x=Axis(label="steps", unit="exact", log=False),
        y=Axis(label="training loss in nats", unit="count"),
        series=tuple(series),
    )
    return Figure(chart, _losses(study, command))


def _lines(one: Judged) -> list[Series]:
    """Return a line for each run that has one; the first of them is named."""
    found = [tuple(Point(x, y) for x, y in run.curve if y > 0) for run in one.runs]
    drawn = [points for points in found if points]
    return [
        Series("" if number else one.name, points, group=one.name)
        for number, points in enumerate(drawn)
    ]


def _losses(study: Study, command: str) -> Table:
    """Return the loss at a few steps, the mean over seeds."""
    steps = sorted({step for one in study.judged for run in one.runs for step, _ in run.curve})
    chosen = sorted({steps[(len(steps) - 1) * i // _TOLD] for i in range(_TOLD + 1)})
    return Table(
        title="Loss while training",
        columns=(Column("attention"), *(Column(f"{step:,}", "count") for step in chosen)),
        rows=tuple(
            (one.name, *(_mean_at(one.runs, step) for step in chosen)) for one in ordered(study)
        ),
        note="In nats a label after so many steps, the mean over seeds.",
        command=command,
    )


def _mean_at(runs: tuple[Run, ...], step: int) -> float | None:
    """Return the mean over runs that came so far."""
    found = [loss for run in runs for at, loss in run.curve if at == step]
    return sum(found) / len(found) if found else None
