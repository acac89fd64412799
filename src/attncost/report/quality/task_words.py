"""How scores of a task are written: an accuracy in per cent and points, a loss in nats."""

from typing import Final

from attncost.core.units import show
from attncost.train.quality.estimate import Estimate
from attncost.train.quality.tasks.study import Judged, Study
from attncost.train.tasks.interface import Task

_PERCENT: Final = " %"


def unit(task: Task) -> str:
    """Return the unit of its scores."""
    return "percent" if task.metric == "accuracy" else "count"


def level(task: Task, value: float) -> str:
    """Write a score."""
    said = show(value, unit(task))
    return f"{said} of labels" if task.metric == "accuracy" else f"{said} nats a label"


def apart(task: Task, value: float) -> str:
    """Write how far two scores are apart, without a sign."""
    said = show(abs(value), unit(task)).removesuffix(_PERCENT)
    return f"{said} {'points' if task.metric == 'accuracy' else 'nats'}"


def ends(task: Task, low: float, high: float) -> str:
    """Write an interval."""
    return f"{_plain(task, low)} to {_plain(task, high)}"


def around(task: Task, one: Estimate) -> str:
    """Write the interval of a score, or that there is none."""
    if one.low is None or one.high is None:
        return "one seed, no interval"
    return f"95 % interval {ends(task, one.low, one.high)}"


def ordered(study: Study) -> tuple[Judged, ...]:
    """Return the base, then the others, the best first."""
    others = [one for one in study.judged if one is not study.base]
    sign = -1 if study.more_is_better else 1
    return study.base, *sorted(others, key=lambda one: sign * one.score.value)


def _plain(task: Task, value: float) -> str:
    return show(value, unit(task)).removesuffix(_PERCENT)
