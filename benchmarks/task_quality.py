"""What attentions learn: recall of pairs, a dial that tells linear from softmax, and digits.

Every attention is trained by the task's usual recipe, from the same seeds, on one thread.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final, final

from benchmarks.promise import Promise

from attncost.mechanisms.spelling import to_run
from attncost.train.quality.tasks.comparison import Comparison
from attncost.train.quality.tasks.run import Run, trained
from attncost.train.recipe import Recipe
from attncost.train.tasks import task
from attncost.train.transformer import Sizes

CAUSAL: Final = "causal"
WINDOW: Final = "window:width=16"
LINEAR: Final = "linear:causal=1"
LINFORMER: Final = "linformer:rank=16"
SEEDS: Final = 3
RUN_SECONDS: Final = 60.0
DIGITS_SECONDS: Final = 600.0
# Of accuracy on digits, between full attention and Linformer.
GAP: Final = 0.03


@final
@dataclass(frozen=True, slots=True)
class Contest:
    """Attentions that learn one task.

    Attributes:
        task: How it is spelled.
        attentions: How they are.
        sizes: Of the models.
        steps: Of training; the task's usual ones, if left out.
    """

    task: str
    attentions: tuple[str, ...]
    sizes: Sizes = field(default_factory=Sizes)
    steps: int | None = None


RECALL: Final = Contest("recall", (CAUSAL, WINDOW, "strided:stride=8", LINEAR))
# More pairs than a state of 16 x 16 numbers can keep apart.
DIAL: Final = Contest(
    "recall:length=128,pairs=32,keys=64", (CAUSAL, LINEAR), Sizes(d_model=16, heads=1), steps=1500
)
DIGITS: Final = Contest(
    "digits",
    (
        "full",
        "window:width=17,ahead=8",
        "window2d:columns=8,reach=1",
        "linear",
        "linear:feature_map=softmax",
        LINFORMER,
        f"{LINFORMER},per_head=1",
    ),
)
CONTESTS: Final = (RECALL, DIAL, DIGITS)
# Seconds, to see that all of it runs.
QUICK: Final = Contest(
    "recall:length=16,pairs=2,keys=4,values=4", (CAUSAL, "window:width=2"), steps=100
)

Found = dict[str, list[Run]]
Tell = Callable[[str], None]


def learned(contest: Contest, *, seeds: int, tell: Tell) -> Found:
    """Train all of them.

    Args:
        contest: Which.
        seeds: How many runs of each.
        tell: Is told what is trained next.
    """
    learning = task(contest.task)
    usual = learning.usual
    asked = Comparison(
        task=learning,
        attentions={name: to_run(name) for name in contest.attentions},
        recipe=Recipe(
            steps=contest.steps or usual.steps,
            batch=usual.batch,
            learning_rate=usual.learning_rate,
        ),
        sizes=contest.sizes,
        seeds=seeds,
    )
    found: Found = {name: [] for name in contest.attentions}
    for name, seed in asked.runs:
        tell(f"{contest.task}: {name}, seed {seed}")
        found[name].append(trained(asked, name, seed))
    return found


def promises(found: Mapping[str, Found]) -> list[Promise]:
    """Return what is promised of accuracy, the worst seed counting, and of seconds."""
    recall, dial, digits = (found[one.task] for one in CONTESTS)
    owed = [
        _at_least("recall, causal", recall[CAUSAL], 0.95),
        _at_most("recall, a window of 16", recall[WINDOW], 0.25),
        _at_least(f"{DIAL.task}, causal", dial[CAUSAL], 0.95),
        _at_most(f"{DIAL.task}, linear", dial[LINEAR], 0.8),
        _gap(digits["full"], digits[LINFORMER]),
    ]
    for title, runs in (("recall", recall), (DIAL.task, dial)):
        slowest = max(_seconds(one) for each in runs.values() for one in each)
        owed.append(_promise(f"s a run, {title}", slowest, RUN_SECONDS))
    spent = sum(_seconds(one) for each in digits.values() for one in each)
    owed.append(_promise("s for all of digits", spent, DIGITS_SECONDS))
    return owed


def show(found: Mapping[str, Found]) -> None:
    """Print what was learned."""
    for title, runs in found.items():
        print(f"\n{title:<40}{'mean':>8}{'worst':>8}{'best':>8}{'s a run':>9}")
        for name, each in runs.items():
            scores = [run.score for run in each]
            print(
                f"{name:<40}{fmean(scores):>8.3f}{min(scores):>8.3f}{max(scores):>8.3f}"
                f"{fmean(map(_seconds, each)):>9.1f}"
            )


def _at_least(name: str, runs: list[Run], least: float) -> Promise:
    """Return a promise of what is missed, for a figure must not exceed its limit."""
    return _promise(f"what is missed in {name}", 1 - min(run.score for run in runs), 1 - least)


def _at_most(name: str, runs: list[Run], most: float) -> Promise:
    return _promise(f"accuracy of {name}", max(run.score for run in runs), most)


def _gap(full: list[Run], low: list[Run]) -> Promise:
    gap = fmean(run.score for run in full) - fmean(run.score for run in low)
    return _promise("accuracy that Linformer loses on digits", gap, GAP)


def _promise(name: str, figure: float, limit: float) -> Promise:
    return Promise(name=name, figure=figure, low=figure, high=figure, limit=limit)


def _seconds(run: Run) -> float:
    assert run.seconds is not None, "no run of a benchmark goes on from another one"
    return run.seconds
