"""Attention over nested tensors: sequences of different lengths in one batch.

    pairs = sum of heads * n_i * m_i, multiplied and read; dense: the same batch, padded

The function is that of `sdpa`, which asks here, so this file defines none. Lengths without values,
as of fake tensors, leave only a bound: all tokens of one side against the longest of the other.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nested._internal.nested_tensor import NestedTensor
from torch.utils._python_dispatch import _disable_current_modes

from attncost.core.dims import Dims, Shape
from attncost.core.unseen import unseen
from attncost.cost.counting.apis.interface import AttentionCall, itemsize, learns
from attncost.cost.counting.masks import causal_pairs


class _One(NamedTuple):
    """The shapes of one sequence."""

    q: Shape
    k: Shape
    v: Shape

    @property
    def heads(self) -> int:
        return max(prod(shape[:-2]) for shape in self)

    def fits(self) -> bool:
        return self.q[-1] == self.k[-1] > 0 and self.k[-2] == self.v[-2] and self.v[-1] > 0


def nested_call(q: Tensor, k: Tensor, v: Tensor, *, causal: bool) -> AttentionCall | None:
    """Return the call that three nested tensors make; None if PyTorch refuses them.

    Args:
        q: Queries, nested in either layout of PyTorch; the axes before the last two are heads.
        k: Keys.
        v: Values.
        causal: Whether query i of a sequence reads its keys 0 to i.
    """
    if not all(x.is_nested for x in (q, k, v)):
        return None
    where = next(filter(None, map(_unseen, (q, k, v))), None)
    if where is not None:
        return _at_most(q, k, v, where)
    # Whoever counts operations shall not meet ours.
    with _disable_current_modes(), torch.no_grad():
        shapes = [_shapes(x) for x in (q, k, v)]
    if len({len(of_one) for of_one in shapes}) > 1:
        return None
    every = [_One(*one) for one in zip(*shapes, strict=True)]
    if not any(one.heads for one in every) or not all(one.fits() for one in every):
        return None
    pairs = sum(one.heads * one.q[-2] * one.k[-2] for one in every)
    read = sum(one.heads * causal_pairs(one.q[-2], one.k[-2]) for one in every)
    output = sum(one.heads * one.q[-2] * one.v[-1] for one in every)
    dims = _padded(every, itemsize(q))
    return AttentionCall(
        dims=dims,
        useful=read if causal else pairs,
        executed=pairs,
        bytes=(sum(prod(shape) for one in every for shape in one) + output) * dims.itemsize,
        learns=(learns(q), learns(k), learns(v)),
    )


def _at_most(q: Tensor, k: Tensor, v: Tensor, where: str) -> AttentionCall | None:
    """Return the most that jagged tensors may cost whose lengths are unknown."""
    jagged = [x for x in (q, k, v) if isinstance(x, NestedTensor)]
    if len(jagged) < 3 or any(x._ragged_idx != x.dim() - 2 for x in jagged):
        return None
    one, (tokens, keys, _) = _One(*map(_longest, jagged)), map(_tokens, jagged)
    if not one.fits() or not one.heads or not q.shape[0]:
        return None
    pairs = one.heads * min(tokens * one.k[-2], keys * one.q[-2])
    output = one.heads * tokens * one.v[-1]
    dims = _padded([one] * int(q.shape[0]), itemsize(q))
    return AttentionCall(
        dims=dims,
        useful=pairs,
        executed=pairs,
        bytes=(sum(int(x._values.numel()) for x in jagged) + output) * dims.itemsize,
        learns=(learns(q), learns(k), learns(v)),
        unknown=f"the lengths of nested sequences {where} are unknown",
    )


def _padded(every: Sequence[_One], size: int) -> Dims:
    """Return the sizes of the batch if every sequence were as long as the longest."""
    return Dims(
        batch=len(every),
        heads=max(one.heads for one in every),
        kv_heads=max(prod(one.k[:-2]) for one in every),
        length=max(one.q[-2] for one in every),
        kv_length=max(one.k[-2] for one in every),
        head_dim=every[0].q[-1],
        value_dim=every[0].v[-1],
        itemsize=size,
    )


def _unseen(x: Tensor) -> str | None:
    """Return why the lengths of a nested tensor cannot be looked at."""
    if not isinstance(x, NestedTensor):
        return None
    return unseen(x._offsets if x._lengths is None else x._lengths)


def _shapes(x: Tensor) -> list[Shape]:
    """Return the shape of every sequence of a nested tensor."""
    if not isinstance(x, NestedTensor):
        return [tuple(shape) for shape in x._nested_tensor_size().tolist()]
    lengths = x._offsets.diff() if x._lengths is None else x._lengths
    return [_with_ragged(x, length) for length in lengths.tolist()]


def _tokens(x: NestedTensor) -> int:
    """Return how many tokens all sequences have together."""
    return int(x._values.shape[x._ragged_idx - 1])


def _longest(x: NestedTensor) -> Shape:
    """Return the shape of the longest sequence that there may be."""
    longest = x._maybe_max_seqlen
    return _with_ragged(x, _tokens(x) if longest is None else int(longest))


def _with_ragged(x: NestedTensor, length: int) -> Shape:
    sizes = list(x._values.shape)
    sizes[x._ragged_idx - 1] = length
    return tuple(map(int, sizes))
