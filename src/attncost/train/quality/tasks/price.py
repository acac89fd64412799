"""What a Transformer with one attention costs, counted before anything is trained.

FLOPs are of one sequence forward; memory is that of one training step on a batch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch

from attncost.cost.counting.count import count
from attncost.measure.subjects.modes import Forward, Training
from attncost.train.quality.tasks.comparison import Comparison
from attncost.train.transformer import Transformer


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """What one attention costs in the model.

    Attributes:
        parameters: Numbers that the model learns.
        executed: FLOPs of attention that its kernels multiply, all layers together.
        useful: FLOPs of the pairs that it reads.
        model_executed: The same of the whole model.
        model_useful: Likewise.
        at_least: Whether something in it has no price.
        peak_bytes: The most memory of a training step, weights and their gradients included.
        peak_at_least: Whether a kernel may hold more inside.
    """

    parameters: int
    executed: int
    useful: int
    model_executed: int
    model_useful: int
    at_least: bool
    peak_bytes: int
    peak_at_least: bool


def model_of(asked: Comparison, name: str, *, seed: int) -> Transformer:
    """Return a fresh model.

    Raises:
        AttnCostError: If this attention cannot learn this task.
    """
    return Transformer(asked.task, asked.attentions[name], asked.sizes, seed=seed)


def price(asked: Comparison, name: str) -> Price:
    """Count one attention.

    Raises:
        AttnCostError: If it cannot learn this task.
    """
    model = model_of(asked, name, seed=0)
    one = asked.task.held_out(1).tokens
    with torch.inference_mode():
        counted = count(model.eval(), one)
    held = Training(model.train(), one.expand(step_batch(asked), -1)).footprint("cpu")
    return Price(
        parameters=counted.parameters,
        executed=int(counted.core.executed),
        useful=int(counted.core.useful),
        model_executed=counted.executed,
        model_useful=counted.useful,
        at_least=counted.at_least,
        peak_bytes=held.peak,
        peak_at_least=not held.exact,
    )


def step_batch(asked: Comparison) -> int:
    """Return the sequences that are in memory at once."""
    return -(-asked.recipe.batch // asked.recipe.micro_batches)


def forward_of(asked: Comparison, name: str) -> Callable[[], object]:
    """Return a forward pass over one batch of sequences that no run has trained on."""
    model = model_of(asked, name, seed=0).eval()
    return Forward(model, asked.task.held_out(step_batch(asked)).tokens)
