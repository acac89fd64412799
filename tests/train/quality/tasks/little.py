"""A task that is learned in a moment, and what is asked of it."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

import torch

from attncost.patterns.causal import Causal
from attncost.patterns.window import Window
from attncost.train.quality.tasks.comparison import Comparison
from attncost.train.recipe import Recipe
from attncost.train.tasks.interface import IGNORED, Batch, Metric, Task, Usual
from attncost.train.transformer import Sizes


@final
@dataclass(frozen=True, slots=True)
class First(Task):
    """At the last token, say the first: nothing that reads only near ones can."""

    source: ClassVar[str] = "made for tests"
    metric: ClassVar[Metric] = "accuracy"
    causal: ClassVar[bool] = True
    pooled: ClassVar[bool] = False
    vocabulary: ClassVar[int] = 2
    classes: ClassVar[int] = 2
    length: ClassVar[int] = 8
    chance: ClassVar[float] = 0.5
    usual: ClassVar[Usual] = Usual(steps=80, batch=32, learning_rate=2e-2)

    @classmethod
    def examples(cls):
        return (cls(),)

    def drawn(self, size, *, seed, step):
        generator = torch.Generator().manual_seed(1000 * seed + step)
        tokens = torch.randint(2, (size, self.length), generator=generator)
        labels = torch.full_like(tokens, IGNORED)
        labels[:, -1] = tokens[:, 0]
        return Batch(tokens, labels)

    def held_out(self, size):
        return self.drawn(min(size, 64), seed=99, step=0)


ASKED = Comparison(
    task=First(),
    attentions={"window:width=2": Window(2), "causal": Causal()},
    recipe=Recipe(steps=80, batch=32, learning_rate=2e-2),
    sizes=Sizes(d_model=8, layers=1, heads=1),
    seeds=2,
)


def asked(*, steps=4, **changes):
    """Return what is asked, with few steps and other changes."""
    return replace(ASKED, recipe=replace(ASKED.recipe, steps=steps), **changes)
