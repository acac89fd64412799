"""Train one variant at one learning rate, and say what became of it.

A run *diverged* if a loss in training was not finite, or if the loss on text held out is no less
after training than before. A spike that is recovered from is no divergence, and is told apart:
`worst_loss`.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Final, final

from attncost.train.loop import evaluate, train
from attncost.train.recipe import Recipe
from attncost.train.stability.variants import Variant
from attncost.train.tasks.bytes import Bytes
from attncost.train.tasks.interface import Task
from attncost.train.telemetry import Row
from attncost.train.transformer import Sizes

# Small enough for seconds a run, and 4 layers deep, so that layers can harm each other.
_SIZES: Final = Sizes(d_model=64, layers=4, heads=4, hidden=256, convolution=1)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What all variants have in common.

    Attributes:
        task: What is learned.
        sizes: Those of the model.
        recipe: What variants change; its rate and seed are those of the run.
        held_out: Sequences that the loss is taken of before and after.
        every: How many steps lie between two that are looked at for the largest logit.
    """

    task: Task = field(default_factory=lambda: Bytes(length=64))
    sizes: Sizes = _SIZES
    recipe: Recipe = field(default_factory=lambda: Recipe(steps=80, batch=8))
    held_out: int = 64
    every: int = 5


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """What became of one run.

    Attributes:
        variant: Its name.
        rate: The peak of the learning rate.
        seed: Of weights and batches.
        rows: Its steps.
        start: The loss on sequences held out before training.
        end: The same after it; not finite if training ended with such a loss.
    """

    variant: str
    rate: float
    seed: int
    rows: tuple[Row, ...]
    start: float
    end: float

    @property
    def diverged(self) -> bool:
        """Whether training did harm alone."""
        finite = math.isfinite(self.end) and all(math.isfinite(row.loss) for row in self.rows)
        return not (finite and self.end < self.start)

    @property
    def worst_loss(self) -> float:
        """The largest loss of a step; infinite if one was not finite."""
        return _largest([row.loss for row in self.rows])

    @property
    def worst_gradient(self) -> float:
        """The largest norm of a gradient before clipping; infinite if one was not finite."""
        return _largest([row.gradient_norm for row in self.rows])

    @property
    def largest_logit(self) -> float:
        """The largest score of a query and a key in all steps that were looked at."""
        logits = [
            layer.largest_logit
            for row in self.rows
            for layer in row.layers or ()
            if layer.largest_logit is not None
        ]
        return _largest(logits)


def trial(variant: Variant, rate: float, seed: int, *, setting: Setting | None = None) -> Trial:
    """Train a variant.

    Args:
        variant: What to train.
        rate: The peak of the learning rate.
        seed: Of weights and batches.
        setting: What it has in common with others.
    """
    setting = setting or Setting()
    recipe = variant.recipe(replace(setting.recipe, learning_rate=rate, seed=seed))
    model = variant.build(setting.task, setting.sizes, seed=seed)
    start = evaluate(model, setting.task, size=setting.held_out)
    trained = train(model, setting.task, recipe, every=setting.every, optimize=variant.optimize)
    end = math.nan
    if not trained.diverged:
        end = evaluate(model, setting.task, size=setting.held_out)
    return Trial(
        variant=variant.name, rate=rate, seed=seed, rows=trained.rows, start=start, end=end
    )


def _largest(values: list[float]) -> float:
    return max((x if math.isfinite(x) else math.inf for x in values), default=math.inf)
