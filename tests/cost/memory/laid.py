"""Tensors in every way that a kernel may not like them to lie in memory, and calls on them."""

from collections.abc import Callable
from typing import Any

import torch

F32, F64, BF16, I64, BOOL = (
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.int64,
    torch.bool,
)
FLOATS = (F32, F64, BF16)
SHAPE = (3, 4, 5, 6)

CALLS: dict[str, Callable[[str], list[Any]]] = {}


def calls(names):
    """Note what makes the arguments of calls of operations: tuples of positional ones, or pairs."""

    def add(made):
        for name in [names] if isinstance(names, str) else names:
            CALLS[f"aten::{name.removeprefix('aten::')}"] = made
        return made

    return add


def drawn(*shape, dtype=F32):
    if dtype == BOOL:
        return torch.rand(shape) > 0.5
    if not dtype.is_floating_point:
        return torch.randint(1, 5, shape, dtype=dtype)
    return torch.randn(shape).to(dtype)


def places(*shape, below):
    return torch.randint(0, below, shape)


def laid(*shape, dtype=F32, shared=True):
    """Return tensors of a shape that lie differently; `shared`: also several numbers in a place."""
    found = [
        drawn(*shape, dtype=dtype),
        drawn(*shape[:-1], 2 * shape[-1], dtype=dtype)[..., ::2],
        drawn(*shape[:-1], shape[-1] + 3, dtype=dtype)[..., : shape[-1]],
    ]
    if len(shape) > 1:
        found.append(drawn(*shape[:-2], shape[-1], shape[-2], dtype=dtype).mT)
    if len(shape) > 2:
        swapped = (*shape[:-3], shape[-2], shape[-3], shape[-1])
        found.append(drawn(*swapped, dtype=dtype).transpose(-2, -3))
    if shared:
        found.append(drawn(*(1 for _ in shape), dtype=dtype).expand(shape))
        found.append(drawn(*shape[:-1], 1, dtype=dtype).expand(shape))
    return found


def every(*shape, dtypes=FLOATS, shared=True):
    """Return tensors of a shape and several dtypes; in all ways of the first, some of others."""
    first, *others = (laid(*shape, dtype=dtype, shared=shared) for dtype in dtypes)
    return [*first, *(x for some in others for x in some[::3])]


def like(x):
    """Return a contiguous tensor of the same shape and dtype."""
    return drawn(*x.shape, dtype=x.dtype)
