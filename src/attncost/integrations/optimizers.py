"""Optimizers by the names that people type, as functions of parameters."""

from functools import partial
from typing import Final

import torch

from attncost.core.errors import UnknownName
from attncost.cost.memory.memory import MakeOptimizer

_KNOWN: Final[dict[str, MakeOptimizer]] = {
    "adamw": torch.optim.AdamW,
    "momentum": partial(torch.optim.SGD, momentum=0.9),
    "sgd": torch.optim.SGD,
}


def optimizer(name: str) -> MakeOptimizer:
    """Return what makes an optimizer with the settings that PyTorch gives it.

    Raises:
        UnknownName: If there is none of that name.

    >>> optimizer("adamw").__name__
    'AdamW'
    """
    if name not in _KNOWN:
        raise UnknownName("optimizer", name, _KNOWN)
    return _KNOWN[name]
