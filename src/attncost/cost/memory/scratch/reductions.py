"""What reductions hold: copies in another dtype, and a part of the result for each thread.

A reduction to one number, of 32768 or more, by several threads begins with one number for each.
"""

from typing import Final

import torch
from torch import Tensor

from attncost.cost.counting.formulas.names import aten
from attncost.cost.memory.registry import nothing, scratch
from attncost.cost.memory.scratch.copies import HALF, Argument, copied, flattened, size

_GRAIN: Final = 32768
_NUMBER: Final = 8

DIRECT: Final = aten("topk linalg_vector_norm")

scratch(*DIRECT)(nothing)


@scratch("aten::sum", "aten::prod")
def summed(x: Tensor, *_: Argument, out: Tensor, **__: Argument) -> int | None:
    """Return the bytes of a copy in the dtype of the sum."""
    if x.dtype in HALF and out.numel() == 1:
        return None
    return (0 if x.dtype == out.dtype else size(x, out.dtype)) + _by_threads(x, out)


@scratch("aten::mean")
def mean(x: Tensor, *_: Argument, out: Tensor, **__: Argument) -> int | None:
    """Return the bytes of the number divided by; below 32 bits, of all in 32 bits as well."""
    if x.dtype in HALF:
        return size(x, torch.float32) + size(out, torch.float32)
    if x.dtype != out.dtype:
        return None
    return max(_by_threads(x, out), _NUMBER + out.itemsize)


@scratch("aten::any", "aten::all")
def truth(x: Tensor, *_: Argument, out: Tensor, **__: Argument) -> int | None:
    """Return the bytes of every number's own truth."""
    if x.dtype == torch.uint8:
        return None
    return (0 if x.dtype == torch.bool else size(x, torch.bool)) + _by_threads(x, out)


@scratch("aten::amax", "aten::amin")
def extreme(x: Tensor, *_: Argument, out: Tensor, **__: Argument) -> int:
    """Return the bytes of each thread's own extreme."""
    return _by_threads(x, out)


@scratch("aten::max", "aten::min")
def extreme_and_place(x: Tensor, *dim: Argument, out: Argument, **_: Argument) -> int | None:
    """Return the bytes of the input in a row, if the extreme is one of all."""
    if dim and isinstance(dim[0], Tensor):
        return None
    return 0 if dim else copied(x)


@scratch("aten::argmax", "aten::argmin")
def place(x: Tensor, dim: int | None = None, *_: Argument, out: Tensor) -> int:
    """Return the bytes of the input in a row, if the place is one among all."""
    return flattened(x) if dim is None else 0


@scratch("aten::cumsum")
def cumulated(x: Tensor, *_: Argument, out: Tensor, **__: Argument) -> int:
    """Return the bytes of a copy in the dtype of the sums."""
    return 0 if x.dtype == out.dtype else size(x, out.dtype)


@scratch("aten::var", "aten::std", "aten::var_mean", "aten::std_mean")
def spread(x: Tensor, *_: Argument, out: Argument, **__: Argument) -> int | None:
    """Return nothing, if it is not the spread of all numbers."""
    first = out if isinstance(out, Tensor) else out[0]
    return None if first.numel() == 1 else 0


@scratch("aten::logsumexp")
def logsumexp(x: Tensor, *_: Argument, out: Tensor, **__: Argument) -> int | None:
    """Return the bytes of all exponentials, and of the greatest numbers."""
    return size(x) + size(out) if x.dtype == out.dtype else None


@scratch("aten::sort")
def sort(x: Tensor, dim: int = -1, *_: Argument, out: Argument, **__: Argument) -> int | None:
    """Return the bytes of the places along the axis."""
    return x.shape[dim] * torch.int64.itemsize if x.dtype.is_floating_point else None


def _by_threads(x: Tensor, out: Tensor) -> int:
    """Return the bytes of one result for each thread, where they are put together in the end."""
    threads = torch.get_num_threads()
    several = threads > 1 and out.numel() == 1 and x.numel() >= _GRAIN
    return threads * out.itemsize if several else 0
