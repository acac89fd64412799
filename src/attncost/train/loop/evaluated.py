"""What a model scores on sequences that it has not learned from."""

import math
from typing import Final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from attncost.batches.loss import counted_tokens
from attncost.core.errors import ShapeError
from attncost.train.loop.apart import mode
from attncost.train.loop.given import HoldsOut
from attncost.train.loop.scores import device_of, narrowed, scores_of
from attncost.train.recipe import Autocast
from attncost.train.tasks.interface import IGNORED, Metric

_AT_ONCE: Final = 64


def evaluate(
    model: nn.Module, task: HoldsOut, *, size: int, autocast: Autocast | None = None
) -> float:
    """Return what a model scores on sequences held out, by the task's metric.

    Args:
        model: Maps tokens to scores, as `train` takes it.
        task: What it has learned.
        size: Sequences at most.
        autocast: A narrower type for matrix products, or None.

    Returns:
        The score; NaN if one of the scores is, or too large to say anything.

    Raises:
        ShapeError: If scores and labels do not belong together, or no label counts.
    """
    batch, total = task.held_out(size), 0.0
    counted = counted_tokens(batch.labels, shifted=False)
    if not counted:
        raise ShapeError(f"{task} holds out no label in {size} sequences: ask for more.")
    parts = batch.tokens.split(_AT_ONCE), batch.labels.split(_AT_ONCE)
    with torch.no_grad(), mode(model, training=False):
        for tokens, labels in zip(*parts, strict=True):
            with narrowed(device_of(model), autocast):
                scores = scores_of(model, tokens, labels)
            total += _summed(scores.float(), labels.to(scores.device), task.metric)
    return total / counted


def _summed(scores: Float[Tensor, "b r c"], labels: Int[Tensor, "b r"], metric: Metric) -> float:
    counts = labels != IGNORED
    scores, labels = scores[counts], labels[counts]
    if metric == "nats":
        return float(cross_entropy(scores, labels, reduction="sum"))
    # A class may be ruled out by -inf, but not all of them.
    if not scores.logsumexp(-1).isfinite().all():
        return math.nan
    return float((scores.argmax(-1) == labels).sum())
