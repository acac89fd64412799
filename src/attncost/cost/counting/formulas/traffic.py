"""The bytes that one operation reads and writes.

One rule: every tensor that an operation gets is read once, every tensor that it returns is written
once, whatever a cache saves or a kernel reads again. An operation in place returns its target, so
it reads and writes it. An element that an expanded or overlapping view shows many times is stored
once. Formulas of operations that touch only a part, such as an embedding, say so themselves.
"""

from collections.abc import Callable, Iterator
from functools import wraps
from math import prod
from typing import Any, Final, TypeAlias

import torch
from torch import Tensor

from attncost.core.cost import Cost
from attncost.cost.counting.registry import Formula, price

# What an operation takes or returns: PyTorch has no type for all of it.
Argument: TypeAlias = Any

_COMPRESSED: Final = (torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


def moving(*operations: str, step: str) -> Callable[[Formula], Formula]:
    """Decorate a formula that leaves bytes out: the table gets it with those of the rule."""

    def decorate(formula: Formula) -> Formula:
        @price(*operations, step=step)
        @wraps(formula)
        def priced(*args: Argument, out: Argument, **kwargs: Argument) -> Cost:
            moved = Cost(bytes=traffic((args, kwargs), out))
            return formula(*args, out=out, **kwargs) + moved

        return formula

    return decorate


def traffic(read: object, written: object) -> int:
    """Return the bytes of all tensors in two nests of lists."""
    return sum(stored(tensor) for tensor in tensors((read, written)))


def stored(tensor: Tensor) -> int:
    """Return the bytes of the elements that a tensor really keeps in memory.

    >>> stored(torch.ones(3, 1).expand(3, 1000)), stored(torch.arange(9.0).unfold(0, 4, 1))
    (12, 36)
    """
    if tensor.layout is torch.sparse_coo:
        return stored(tensor._values()) + stored(tensor._indices())
    if tensor.layout in _COMPRESSED:
        by_row = tensor.layout in (torch.sparse_csr, torch.sparse_bsr)
        ends = tensor.crow_indices() if by_row else tensor.ccol_indices()
        places = tensor.col_indices() if by_row else tensor.row_indices()
        return stored(tensor.values()) + stored(ends) + stored(places)
    if tensor.layout is not torch.strided or tensor.is_nested:
        return int(tensor.numel()) * tensor.itemsize
    return _kept(tensor.shape, tensor.stride()) * tensor.itemsize


def tensors(nest: object) -> Iterator[Tensor]:
    """Return the tensors in nested lists and dictionaries."""
    if isinstance(nest, Tensor):
        yield nest
    elif isinstance(nest, dict):
        yield from tensors(list(nest.values()))
    elif isinstance(nest, list | tuple):
        for part in nest:
            yield from tensors(part)


def elements(nest: object) -> int:
    """Return how many numbers all tensors in nested lists show."""
    return sum(int(tensor.numel()) for tensor in tensors(nest))


def _kept(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    if 0 in shape:
        return 0
    shown = prod(size for size, stride in zip(shape, strides, strict=True) if stride)
    span = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    return min(shown, span)
