"""The recipe that keeps training stable, beside what `Transformer` and `TransformerBlock` do.

    lr(step) = peak (step + 1) / w                             in the first w steps
             = peak (floor + (1 - floor) (1 + cos(pi t)) / 2)  after these, t from 0 to 1
    w        = warmup * steps, rounded

AdamW with decay on matrices alone, warm-up, cosine, clipping. Each part is one that PyTorch has;
here they are put together. Where it does not help, docs/stability.md says so.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, final, get_args

from torch import nn
from torch.optim import AdamW

from attncost.core.errors import ShapeError, UnknownName

Autocast: TypeAlias = Literal["bfloat16", "float16"]
_LEAST: Final = {"steps": 1, "batch": 1, "micro_batches": 1, "seed": 0}


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """How a model is trained.

    Attributes:
        steps: Optimizer steps.
        batch: Sequences of a step.
        micro_batches: Into how many batches these are cut, one in memory at a time; their losses
            are weighted by labels, so that the gradient is that of the whole batch.
        learning_rate: Its peak.
        warmup: The share of all steps in which it grows to the peak: Goyal et al. 2017,
            arXiv:1706.02677.
        floor: What is left of it at the end, as a share: Loshchilov & Hutter 2016,
            arXiv:1608.03983.
        weight_decay: Of matrices; gains, biases and tables of embeddings have none: Loshchilov &
            Hutter 2017, arXiv:1711.05101.
        betas: Of AdamW: Brown et al. 2020, arXiv:2005.14165, appendix B.
        clip: The largest norm of a gradient; None for no limit: Pascanu et al. 2012,
            arXiv:1211.5063.
        autocast: A narrower type for matrix products, or None: Micikevicius et al. 2017,
            arXiv:1710.03740.
        seed: Decides the batches, and what is drawn in a step.

    Raises:
        ShapeError: If one is out of its range.
        UnknownName: If there is no such type.
    """

    steps: int
    batch: int = 64
    micro_batches: int = 1
    learning_rate: float = 3e-3
    warmup: float = 0.1
    floor: float = 0.1
    weight_decay: float = 0.1
    betas: tuple[float, float] = (0.9, 0.95)
    clip: float | None = 1.0
    autocast: Autocast | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if not isinstance(value, int):
                raise ShapeError(f"{name} must be a whole number (an int), got {value!r}.")
            if value < least:
                raise ShapeError(f"{name} must be at least {least}, got {value}.")
        if self.batch < self.micro_batches:
            raise ShapeError(
                f"{self.batch} sequences cannot be cut into {self.micro_batches} micro_batches."
            )
        for name in ("warmup", "floor"):
            if not 0 <= getattr(self, name) <= 1:
                raise ShapeError(f"{name} must lie in [0, 1], got {getattr(self, name)}.")
        self._check_optimizer()

    def _check_optimizer(self) -> None:
        if not 0 < self.learning_rate < math.inf:
            raise ShapeError(
                f"learning_rate must be positive and finite, got {self.learning_rate}."
            )
        if not 0 <= self.weight_decay < math.inf:
            raise ShapeError(
                f"weight_decay must be at least 0 and finite, got {self.weight_decay}."
            )
        if [0 <= beta < 1 for beta in self.betas] != [True, True]:
            raise ShapeError(f"betas must be two numbers in [0, 1), got {self.betas}.")
        if self.clip is not None and not 0 < self.clip < math.inf:
            raise ShapeError(f"clip must be positive and finite, or None, got {self.clip}.")
        if self.autocast not in (None, *get_args(Autocast)):
            raise UnknownName("type for autocast", str(self.autocast), get_args(Autocast))

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, the first of which is 0.

        >>> found = Recipe(steps=10, warmup=0.2, floor=0.5, learning_rate=1.0)
        >>> [round(found.rate(step), 2) for step in (0, 1, 2, 9)]
        [0.5, 1.0, 1.0, 0.5]
        """
        warming = round(self.warmup * self.steps)
        if step < warming:
            return self.learning_rate * (step + 1) / warming
        falling = max(1, self.steps - 1 - warming)
        cosine = (1 + math.cos(math.pi * min(1.0, (step - warming) / falling))) / 2
        return self.learning_rate * (self.floor + (1 - self.floor) * cosine)


def optimizer(model: nn.Module, recipe: Recipe) -> AdamW:
    """Return an optimizer that lets matrices decay, and nothing else."""
    return AdamW(
        list(_groups(model, recipe.weight_decay)), lr=recipe.learning_rate, betas=recipe.betas
    )


def _groups(model: nn.Module, weight_decay: float) -> Iterator[dict[str, Any]]:
    """Yield the parameters that decay, then those that do not; a shared one belongs to tables."""
    tables = {
        id(weight)
        for module in model.modules()
        if isinstance(module, nn.Embedding | nn.EmbeddingBag)
        for weight in module.parameters()
    }
    learned = [weight for weight in model.parameters() if weight.requires_grad]
    matrices = [weight for weight in learned if weight.ndim >= 2 and id(weight) not in tables]
    decaying = set(map(id, matrices))
    yield {"params": matrices, "weight_decay": weight_decay}
    yield {
        "params": [weight for weight in learned if id(weight) not in decaying],
        "weight_decay": 0.0,
    }
