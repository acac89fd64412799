"""A model's scores for labels, on its device and in as narrow a type as was asked for."""

from contextlib import AbstractContextManager
from typing import Final

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attncost.core.errors import ShapeError
from attncost.train.recipe import Autocast

_TYPES: Final = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def device_of(model: nn.Module) -> torch.device:
    """Return where a model lies.

    Raises:
        ShapeError: If it has no parameters.
    """
    for weight in model.parameters():
        return weight.device
    raise ShapeError("the model has no parameters: there is nothing to train.")


def scores_of(
    model: nn.Module, tokens: Int[Tensor, "b n"], labels: Int[Tensor, "b r"]
) -> Float[Tensor, "b r c"]:
    """Return the scores of tokens that may lie elsewhere.

    Raises:
        ShapeError: If there is not one row of scores for each label.
    """
    scores = model(tokens.to(device_of(model)))
    shape = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
    if not isinstance(scores, Tensor) or shape[:-1] != tuple(labels.shape):
        raise ShapeError(
            f"the model must return scores of shape (batch, labels, classes), here "
            f"{(*labels.shape, 'classes')}, got {shape}."
        )
    return scores


def narrowed(device: torch.device, autocast: Autocast | None) -> AbstractContextManager[object]:
    """Return a context of that type; without one, the caller's own autocast is off in it."""
    narrow = None if autocast is None else _TYPES[autocast]
    return torch.autocast(device.type, dtype=narrow, enabled=autocast is not None)
