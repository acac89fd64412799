"""Copies that kernels make inside, when a tensor does not lie as they need it.

A kernel that wants its numbers one after the other copies a tensor whose strides say otherwise, and
gives the copy back at its end.
"""

from itertools import pairwise
from typing import Any, TypeAlias

import torch
from torch import Tensor

# PyTorch has no type for what its operations take and return.
Argument: TypeAlias = Any

HALF: tuple[torch.dtype, ...] = (torch.bfloat16, torch.float16)


def size(x: Tensor, dtype: torch.dtype | None = None) -> int:
    """Return the bytes of a tensor's numbers, or of a copy of them as another dtype."""
    return x.numel() * (dtype or x.dtype).itemsize


def copied(*tensors: Tensor | None) -> int:
    """Return the bytes of contiguous copies of those tensors that are not contiguous."""
    return sum(size(x) for x in tensors if x is not None and not x.is_contiguous())


def flattened(x: Tensor) -> int:
    """Return the bytes that it takes to read a tensor as one row: none if its strides allow it."""
    axes = [(n, step) for n, step in zip(x.shape, x.stride(), strict=True) if n != 1]
    apart = any(outer != step * n for (_, outer), (n, step) in pairwise(axes))
    return size(x) if apart else 0
