"""Train every attention from every seed, and put quality beside cost."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, TypeAlias, final

from attncost.measure.sweep.lock import machine_lock
from attncost.train.quality.estimate import Estimate
from attncost.train.quality.tasks import stored, times
from attncost.train.quality.tasks.comparison import Comparison
from attncost.train.quality.tasks.intervals import estimate
from attncost.train.quality.tasks.pareto import front
from attncost.train.quality.tasks.price import Price, price
from attncost.train.quality.tasks.run import Run, trained
from attncost.train.quality.tasks.times import Time, Times

# Is told what is done now, and steps made of all that there are to make.
Progress: TypeAlias = Callable[[str, int, int], None]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """One attention.

    Attributes:
        name: How it is spelled.
        runs: One a seed.
        score: Their mean, by the metric of the task; without an interval if a run diverged.
        gain: How much better than the base it is, seed by seed, so that more is better for every
            metric; None for the base, and where a run of either diverged.
        price: What it costs by counting.
        time: What a forward pass takes.
    """

    name: str
    runs: tuple[Run, ...]
    score: Estimate
    gain: Estimate | None
    price: Price
    time: Time

    @property
    def diverged(self) -> tuple[int, ...]:
        """Seeds of the runs whose loss stopped being finite."""
        return tuple(run.seed for run in self.runs if run.diverged)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Study:
    """What came of it.

    Attributes:
        asked: What was trained.
        judged: Every attention, as they were asked for.
        sequences: In the batch of which a forward pass was timed.
        environment: Where that was.
    """

    asked: Comparison
    judged: tuple[Judged, ...]
    sequences: int
    environment: Mapping[str, Any]

    @property
    def base(self) -> Judged:
        """What others are compared with."""
        return next(one for one in self.judged if one.name == self.asked.base)

    @property
    def more_is_better(self) -> bool:
        """Whether a higher score is a better one."""
        return self.asked.task.metric == "accuracy"

    @property
    def by_flops(self) -> tuple[str, ...]:
        """What did not diverge and is not beaten in mean score and executed FLOPs of attention."""
        return self._front(lambda one: one.price.executed)

    @property
    def by_time(self) -> tuple[str, ...]:
        """What did not diverge and is not beaten in mean score and time of a forward pass."""
        return self._front(lambda one: one.time.told)

    def worst(self, one: Judged) -> Run:
        """Return the run of the worst seed."""
        return min(one.runs, key=lambda run: self._quality(run.score))

    def best(self, one: Judged) -> Run:
        """Return the run of the best seed."""
        return max(one.runs, key=lambda run: self._quality(run.score))

    def _front(self, cost: Callable[[Judged], float]) -> tuple[str, ...]:
        points = {
            one.name: (self._quality(one.score.value), cost(one))
            for one in self.judged
            if not one.diverged
        }
        return front(points)

    def _quality(self, score: float) -> float:
        return score if self.more_is_better else -score


def study(
    asked: Comparison,
    folder: Path,
    *,
    begin: Callable[[int], None] = lambda _: None,
    progress: Progress = lambda _doing, _done, _total: None,
    tell: Callable[[str], None] | None = None,
) -> Study:
    """Train what is not trained yet, time forward passes, and judge.

    Args:
        asked: What is trained.
        folder: Keeps every run; whatever ends this takes a checkpoint's span at most.
        begin: Is told how many runs are finished already, before others begin.
        progress: Is told how far it is.
        tell: Is told whom it waits for, before anything is timed.

    Raises:
        AttnCostError: If an attention cannot learn the task, before anything is trained; or if
            the folder cannot be used, or holds runs of other settings.
    """
    prices = {name: price(asked, name) for name in asked.attentions}
    stored.check_folder(folder)
    runs = stored.finished(folder, asked)
    begin(len(runs))
    _run_missing(asked, folder, runs, progress)
    side_by_side = times.known(folder, asked)
    if side_by_side is None:
        with machine_lock("cpu", tell=tell):
            side_by_side = times.timed(asked)
        times.keep(folder, asked, side_by_side)
    return _judged(asked, runs, prices, side_by_side)


def _run_missing(
    asked: Comparison, folder: Path, runs: dict[tuple[str, int], Run], progress: Progress
) -> None:
    """Add the runs that are not finished yet."""
    missing = [one for one in asked.runs if one not in runs]
    total = asked.recipe.steps * len(missing)
    for number, (name, seed) in enumerate(missing):
        before = number * asked.recipe.steps

        def told(step: int, _of: int, *, before: int = before, doing: str = name) -> None:
            progress(doing, before + step, total)

        run = trained(asked, name, seed, folder=stored.place(folder, name, seed), tell=told)
        stored.keep(folder, asked, run)
        runs[name, seed] = run


def _judged(
    asked: Comparison,
    runs: Mapping[tuple[str, int], Run],
    prices: Mapping[str, Price],
    timed: Times,
) -> Study:
    def of(name: str) -> tuple[Run, ...]:
        return tuple(runs[name, seed] for seed in range(asked.seeds))

    base = of(asked.base)
    return Study(
        asked=asked,
        judged=tuple(
            Judged(
                name=name,
                runs=of(name),
                score=score_of(asked, of(name)),
                gain=None if name == asked.base else gain_of(asked, of(name), base),
                price=prices[name],
                time=timed.each[name],
            )
            for name in asked.attentions
        ),
        sequences=timed.sequences,
        environment=timed.environment,
    )


def score_of(asked: Comparison, runs: tuple[Run, ...]) -> Estimate:
    """Return the mean score; a run that diverged counts as guessing, and leaves no interval."""
    scores = [run.score for run in runs]
    if any(run.diverged for run in runs):
        return Estimate(fmean(scores))
    if asked.task.metric == "accuracy":
        return estimate(scores, least=0.0, most=1.0)
    return estimate(scores, least=0.0)


def gain_of(asked: Comparison, runs: tuple[Run, ...], base: tuple[Run, ...]) -> Estimate | None:
    """Return the mean gain on the base; of runs that diverged there is none."""
    if any(run.diverged for run in (*runs, *base)):
        return None
    sign = 1.0 if asked.task.metric == "accuracy" else -1.0
    return estimate([sign * (a.score - b.score) for a, b in zip(runs, base, strict=True)])
