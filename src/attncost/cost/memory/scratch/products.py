"""What products of matrices hold: copies of factors that lie as no library of products can read.

A factor is read as it lies if one of its axes is dense, and the other one steps over it. In a batch
of products each matrix is copied when its turn comes, so one copy of a factor is live at a time;
fewer than 400 multiply-adds for each product of a batch are done without a library. Of products
that oneDNN makes nothing is known, see `onednn`.
"""

from typing import Final

import torch
from torch import Tensor

from attncost.cost.memory.registry import scratch
from attncost.cost.memory.scratch.copies import Argument
from attncost.cost.memory.scratch.onednn import multiplies

_BY_HAND: Final = 400


@scratch("aten::dot")
def dotted(a: Tensor, _: Tensor, *, out: Tensor) -> int | None:
    """Return nothing, if the product of two vectors is not made by oneDNN."""
    return None if multiplies(a.dtype, a.numel()) else 0


@scratch("aten::mm")
def product(a: Tensor, b: Tensor, *_: Argument, out: Tensor, **__: Argument) -> int | None:
    """Return the bytes of copies of two factors."""
    return _laid_out(a) + _laid_out(b) if _is_known(a, b, out) else None


@scratch("aten::addmm")
def added(
    _: Tensor, a: Tensor, b: Tensor, *__: Argument, out: Tensor, **___: Argument
) -> int | None:
    """Return the bytes of copies of two factors whose product is added to something."""
    return product(a, b, out=out)


@scratch("aten::bmm")
def products(a: Tensor, b: Tensor, *_: Argument, out: Tensor, **__: Argument) -> int | None:
    """Return the bytes of copies of one matrix of each factor."""
    if not _is_known(a, b, out):
        return None
    multiply_adds = a.shape[-2] * a.shape[-1] * b.shape[-1]
    return 0 if multiply_adds < _BY_HAND else _laid_out(a) + _laid_out(b)


@scratch("aten::baddbmm")
def added_products(
    _: Tensor, a: Tensor, b: Tensor, *__: Argument, out: Tensor, **___: Argument
) -> int | None:
    """Return the bytes of copies of one matrix of each factor."""
    return products(a, b, out=out)


@scratch("aten::mv")
def vector(a: Tensor, b: Tensor, *_: Argument, out: Tensor, **__: Argument) -> int | None:
    """Return the bytes of a copy of a matrix that is multiplied with a vector."""
    return _laid_out(a) if _is_known(a, b, out) else None


def _is_known(a: Tensor, b: Tensor, out: Tensor) -> bool:
    """Say whether fractions, not sparse, lie row by row in a result that oneDNN does not make."""
    if any(x.layout != torch.strided for x in (a, b, out)):
        return False
    if multiplies(a.dtype, a.numel() * (b.shape[-1] if b.ndim > 1 else 1)):
        return False
    return out.dtype.is_floating_point and out.is_contiguous()


def _laid_out(x: Tensor) -> int:
    """Return the bytes of a copy of one matrix, if it cannot be read as it lies."""
    (rows, columns), (down, across) = x.shape[-2:], x.stride()[-2:]
    by_rows = across == 1 and down >= max(1, columns)
    by_columns = down == 1 and across >= max(1, rows)
    return 0 if by_rows or by_columns else rows * columns * x.itemsize
