"""Tasks and models that are trained in milliseconds."""

from dataclasses import dataclass
from typing import ClassVar, final

import torch

from attncost.train.tasks.interface import IGNORED, Batch, Metric, Task, Usual
from attncost.train.transformer import Sizes

SIZES = Sizes(d_model=8, layers=2, heads=2)


@final
@dataclass(frozen=True, slots=True)
class Ragged(Task):
    """Say each token again; sequence i of a batch has i + 1 labels."""

    source: ClassVar[str] = "made for tests"
    metric: ClassVar[Metric] = "nats"
    causal: ClassVar[bool] = True
    pooled: ClassVar[bool] = False
    vocabulary: ClassVar[int] = 7
    classes: ClassVar[int] = 7
    length: ClassVar[int] = 9
    chance: ClassVar[float] = 1.95
    usual: ClassVar[Usual] = Usual(steps=1, batch=1, learning_rate=1.0)

    @classmethod
    def examples(cls):
        return (cls(),)

    def drawn(self, size, *, seed, step):
        generator = torch.Generator().manual_seed(1000 * seed + step)
        tokens = torch.randint(7, (size, 9), generator=generator)
        counts = torch.arange(9) <= torch.arange(size)[:, None]
        return Batch(tokens, torch.where(counts, tokens, IGNORED))

    def held_out(self, size):
        return self.drawn(size, seed=99, step=0)


@final
@dataclass(frozen=True, slots=True)
class Either(Task):
    """Say whether the first token is above 3: one label a sequence, read in any order."""

    source: ClassVar[str] = "made for tests"
    metric: ClassVar[Metric] = "accuracy"
    causal: ClassVar[bool] = False
    pooled: ClassVar[bool] = True
    vocabulary: ClassVar[int] = 7
    classes: ClassVar[int] = 2
    length: ClassVar[int] = 9
    chance: ClassVar[float] = 0.5
    usual: ClassVar[Usual] = Usual(steps=1, batch=1, learning_rate=1.0)

    @classmethod
    def examples(cls):
        return (cls(),)

    def drawn(self, size, *, seed, step):
        generator = torch.Generator().manual_seed(1000 * seed + step)
        tokens = torch.randint(7, (size, 9), generator=generator)
        return Batch(tokens, (tokens[:, :1] > 3).long())

    def held_out(self, size):
        return self.drawn(size, seed=99, step=0)
