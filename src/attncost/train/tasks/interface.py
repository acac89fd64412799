"""What a task is: sequences drawn from a seed, labels to predict, and sequences held out."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, final

import numpy as np
from jaxtyping import Int
from torch import Tensor

from attncost.core.errors import ShapeError
from attncost.core.notebook import as_html

# A label that counts for nothing, as in `torch.nn.functional.cross_entropy`.
IGNORED = -100
Metric: TypeAlias = Literal["accuracy", "nats"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Sequences, and what is to be said of them.

    Attributes:
        tokens: From 0 to below the task's `vocabulary`.
        labels: What each output is to predict, already shifted, from 0 to below `classes`, or
            `IGNORED`; one a sequence where the task is `pooled`.
    """

    tokens: Int[Tensor, "b n"]
    labels: Int[Tensor, "b _"]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Usual:
    """Settings of a `Recipe` with which full attention learns a task, found by trying.

    Attributes:
        steps: Optimizer steps.
        batch: Sequences of a step.
        learning_rate: Its peak.
    """

    steps: int
    batch: int
    learning_rate: float


class Task(ABC):
    """Something to learn that an attention may or may not be able to.

    A task is a frozen dataclass of whole numbers, its dials, and draws nothing that its seed does
    not decide. Where a folder or package is needed, the first draw asks for it.

    Attributes:
        source: The paper or data that defines it, as a citable string.
        metric: What counts: `accuracy` of the labels (more is better), or their mean cross entropy
            in `nats` (less is better).
        causal: Whether an output may depend on no later token.
        pooled: Whether there is one label a sequence, predicted from the mean of all outputs.
    """

    __slots__ = ()
    _repr_html_ = as_html
    source: ClassVar[str]
    metric: ClassVar[Metric]
    causal: ClassVar[bool]
    pooled: ClassVar[bool]

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple["Task", ...]:
        """Return the instances that the contract tests try, edge cases included."""

    @property
    @abstractmethod
    def vocabulary(self) -> int:
        """How many different tokens there are."""

    @property
    @abstractmethod
    def classes(self) -> int:
        """How many different labels there are."""

    @property
    @abstractmethod
    def length(self) -> int:
        """Tokens of a sequence."""

    @property
    @abstractmethod
    def chance(self) -> float:
        """What guessing scores, by `metric`: the accuracy, or the nats of equal odds."""

    @property
    @abstractmethod
    def usual(self) -> Usual:
        """How long and how fast to train by default; hard dials may need more steps than that."""

    @abstractmethod
    def drawn(self, size: int, *, seed: int, step: int) -> Batch:
        """Return so many training sequences; the same ones for the same numbers."""

    @abstractmethod
    def held_out(self, size: int) -> Batch:
        """Return at most so many sequences that `drawn` never returns or, by chance, hardly ever.

        That takes dials with many more sequences than are drawn: of 512 that
        `Recall(16, pairs=2, keys=4, values=4)` holds out, 300 steps of 64 draw a half. They are the
        same ones each time, and whole: a task of fixed data returns no more than it holds.
        """


def chances(seed: int, step: int) -> np.random.Generator:
    """Return where the training sequences of a step get their numbers from.

    Raises:
        ShapeError: If one is negative.
    """
    if seed < 0 or step < 0:
        raise ShapeError(f"seed and step must be at least 0, got {seed} and {step}.")
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(step,)))


def chances_held_out() -> np.random.Generator:
    """Return where held-out sequences get theirs from: a seed of its own, for no `step`."""
    return np.random.default_rng(np.random.SeedSequence(0))


def check_dials(**dials: int) -> None:
    """Refuse dials below 1.

    Raises:
        ShapeError: If one is.
    """
    for name, value in dials.items():
        if value < 1:
            raise ShapeError(f"{name} must be at least 1, got {value}.")
