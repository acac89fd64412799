"""One training run: an attention, a seed, and how well it did on sequences that were held out.

A run whose loss stopped being finite knows nothing, and counts as guessing.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final, TypeAlias, final

from attncost.measure.clocks.clock import clock_for
from attncost.measure.clocks.threads import threads
from attncost.train.loop import Trained, evaluate, train
from attncost.train.quality.tasks.comparison import Comparison
from attncost.train.quality.tasks.price import model_of
from attncost.train.telemetry import Row

Tell: TypeAlias = Callable[[int, int], None]

# More points than these are no more to see in a curve.
_POINTS: Final = 48


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """What came of one run.

    Attributes:
        attention: How it is spelled.
        seed: Of weights and sequences.
        score: On the sequences held out, by the metric of the task.
        diverged: Whether its loss stopped being finite; its score then is that of guessing.
        steps: Steps that were made.
        seconds: CPU time of one thread for all of them; of a run that was interrupted, what the
            steps after that took, for all of them; None if there was none.
        curve: Steps made, and the mean loss of those since the point before.
    """

    attention: str
    seed: int
    score: float
    diverged: bool
    steps: int
    seconds: float | None
    curve: tuple[tuple[int, float], ...]


def trained(
    asked: Comparison, name: str, seed: int, *, folder: Path | None = None, tell: Tell | None = None
) -> Run:
    """Train once, on one thread, and judge what was learned.

    Args:
        asked: What is trained.
        name: How the attention is spelled.
        seed: Of weights and sequences.
        folder: Keeps checkpoints; a run that is in there goes on.
        tell: Is told how many steps are made, of how many.
    """
    model, recipe = model_of(asked, name, seed=seed), asked.seeded(seed)
    found: list[Trained] = []
    done: list[int] = []

    def told(step: int, of: int) -> None:
        done.append(step)
        if tell is not None:
            tell(step, of)

    def run() -> None:
        # What layers look like inside is not asked here.
        found.append(train(model, asked.task, recipe, folder=folder, every=0, progress=told))

    with threads(1):
        seconds = clock_for("cpu").time(run, 1).seconds
        score = math.nan
        if not found[0].diverged:
            score = evaluate(model, asked.task, size=asked.held_out, autocast=recipe.autocast)
    rows, known, made = found[0].rows, math.isfinite(score), done[-1] - done[0]
    return Run(
        attention=name,
        seed=seed,
        score=score if known else asked.task.chance,
        diverged=not known,
        steps=len(rows),
        seconds=seconds * len(rows) / made if made else None,
        curve=_curve(rows),
    )


def _curve(rows: Sequence[Row]) -> tuple[tuple[int, float], ...]:
    """Return the mean loss of equal pieces; a loss that is not finite is no part of any."""
    losses = [(row.step, row.loss) for row in rows if math.isfinite(row.loss)]
    size = max(1, math.ceil(len(losses) / _POINTS))
    pieces = (losses[first : first + size] for first in range(0, len(losses), size))
    return tuple((piece[-1][0] + 1, fmean(loss for _, loss in piece)) for piece in pieces)
