"""Few whole numbers and truths stay real where all else is fake, since code looks at them.

Where documents end, whether a mask hides anything, which token comes when: that decides what runs.
So operations on a CPU that take such tensors alone, and return such tensors, are really run.
"""

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch._subclasses import FakeTensor
from torch.utils._pytree import tree_leaves

# PyTorch has no type for all operations, nor for what they take and return.
Operation: TypeAlias = Any
Value: TypeAlias = Any

# 65,536 of them, so that they take no time; a mask of all pairs is rarely among them.
_FEW: Final = 1 << 16
_LOOKING: Final = (torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape)
_off = torch.utils._python_dispatch._disable_current_modes


def is_few(tensor: Tensor) -> bool:
    """Say whether a tensor is of few whole numbers or truths."""
    whole = not (tensor.is_floating_point() or tensor.is_complex())
    return whole and tensor.numel() <= _FEW


def run_with_numbers(
    operation: Operation, args: tuple[Value, ...], kwargs: dict[str, Value], *, makes: bool
) -> tuple[Value] | None:
    """Return, in a tuple, the result of an operation that may be run really; None of any other.

    Args:
        operation: What is run, beneath all modes.
        args: What it takes.
        kwargs: And by keyword.
        makes: Whether to run those, too, that take no tensor.
    """
    given = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
    if not (given or makes) or not _are_real(given) or not isinstance(operation, OpOverload):
        return None
    if not any(tag in operation.tags for tag in _LOOKING):
        foreseen = tree_leaves(operation(*args, **kwargs))
        if not all(isinstance(x, Tensor) and is_few(x) and x.is_cpu for x in foreseen):
            return None
    with _off():
        return (operation(*args, **kwargs),)


def _are_real(tensors: Iterable[Tensor]) -> bool:
    return all(is_few(x) and x.is_cpu and not isinstance(x, FakeTensor) for x in tensors)
