"""Tensors that `torch.vmap` and `torch.func` wrap: how often a call runs, and on what.

Inside `vmap` a tensor shows the shape of one lane, and the function is called once for all of them.
"""

from math import prod

import torch
from torch import Tensor

_functorch = torch._C._functorch


def lanes(*given: object) -> int:
    """Return how many times `vmap` runs a call with these arguments; 1 outside of it."""
    return prod(_levels(given).values())


def is_vmapped(*given: object) -> bool:
    """Say whether any of these arguments differs from lane to lane."""
    return bool(_levels(given))


def unwrapped(tensor: Tensor) -> Tensor:
    """Return the tensor that holds all lanes."""
    while _functorch.is_functorch_wrapped_tensor(tensor):
        tensor = _functorch.get_unwrapped(tensor)
    return tensor


def _levels(given: tuple[object, ...]) -> dict[int, int]:
    """Return the lanes of every `vmap` around a call, by its depth."""
    found: dict[int, int] = {}
    layers = [x for x in given if isinstance(x, Tensor)]
    while layers := [x for x in layers if _functorch.is_functorch_wrapped_tensor(x)]:
        for x in filter(_functorch.is_batchedtensor, layers):
            inner, axis = _functorch.get_unwrapped(x), _functorch.maybe_get_bdim(x)
            found[_functorch.maybe_get_level(x)] = inner.shape[axis]
        layers = [_functorch.get_unwrapped(x) for x in layers]
    return found
