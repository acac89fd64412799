"""`torch.nn.functional.scaled_dot_product_attention`, which most counters miss on a CPU.

    pairs = batch * heads * n * m multiplied, of which masks let some through

With `is_causal` all pairs count as executed, as PyTorch counts them, though its kernels skip most
of those above the diagonal; query i then reads keys 0 to i, however many keys there are. Bytes are
those of q, k, v, mask and output, each once, as of a fused kernel: what PyTorch's fallback moves
besides, n x m scores, is left out.
"""

from collections.abc import Callable
from math import prod
from typing import Any, Final, final

import torch
from torch import Tensor, broadcast_shapes
from torch.nn.attention.bias import CausalBias, CausalVariant
from torch.nn.functional import scaled_dot_product_attention

from attncost.core.counts import below
from attncost.core.dims import Dims, Shape
from attncost.cost.counting.apis.interface import (
    AttentionApi,
    AttentionCall,
    Given,
    itemsize,
    learns,
)
from attncost.cost.counting.apis.jagged import nested_call
from attncost.cost.counting.formulas.traffic import stored
from attncost.cost.counting.masks import Read, pairs_read
from attncost.cost.counting.vmapped import lanes, unwrapped

_OPERATION: Final = torch.ops.aten.scaled_dot_product_attention


@final
class ScaledDotProductAttention(AttentionApi):
    """One fused call, whatever runs beneath."""

    __slots__ = ()

    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Return the function, and the operation that exported graphs call."""
        return (scaled_dot_product_attention, _OPERATION, _OPERATION.default)

    def read(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        enable_gqa: bool = False,
        **_: Given,
    ) -> tuple[AttentionCall, ...] | None:
        """Return the call; None if PyTorch refuses it or there are no heads or features."""
        if any(x.is_nested for x in (query, key, value)):
            nested = nested_call(query, key, value, causal=is_causal)
            return None if nested is None else (nested,)
        shapes = [tuple(map(int, x.shape)) for x in (query, key, value)]
        scores = _scores(*shapes, grouped=enable_gqa)
        if scores is None or not _broadcasts(attn_mask, scores):
            return None
        heads = scores[-3] if len(scores) > 3 or enable_gqa else 1
        dims = Dims(
            batch=prod(scores[:-2]) // heads * lanes(query, key, value, attn_mask),
            heads=heads,
            kv_heads=max(prod(shape[-3:-2]) for shape in shapes[1:]) if heads > 1 else 1,
            length=scores[-2],
            kv_length=scores[-1],
            head_dim=shapes[0][-1],
            value_dim=shapes[2][-1],
            itemsize=itemsize(query),
        )
        read = _read(dims, attn_mask, causal=is_causal)
        return (
            AttentionCall(
                dims=dims,
                useful=read.pairs,
                executed=prod(_pairs(dims)),
                bytes=_bytes(dims, query, key, value, attn_mask),
                learns=(learns(query), learns(key), learns(value)),
                learns_bias=learns(attn_mask),
                unknown=read.unknown,
            ),
        )


def _scores(q: Shape, k: Shape, v: Shape, *, grouped: bool) -> Shape | None:
    """Return the shape of all scores, if these shapes belong together and hold something."""
    if min(map(len, (q, k, v))) < 2 + grouped or q[-1] != k[-1] or k[-2] != v[-2]:
        return None
    if grouped:
        if not all(x[-3] and q[-3] % x[-3] == 0 for x in (k, v)):
            return None
        k, v = ((*x[:-3], q[-3], *x[-2:]) for x in (k, v))
    try:
        several = broadcast_shapes(q[:-2], k[:-2], v[:-2])
    except RuntimeError:
        return None
    return (*several, q[-2], k[-2]) if q[-1] and v[-1] and 0 not in several[-1:] else None


def _broadcasts(mask: Tensor | None, scores: Shape) -> bool:
    if mask is None or isinstance(mask, CausalBias):
        return True
    sizes = zip(reversed(mask.shape), reversed(scores), strict=False)
    return mask.dim() <= len(scores) and all(size in (1, whole) for size, whole in sizes)


def _pairs(dims: Dims) -> tuple[int, int, int, int]:
    return (dims.batch, dims.heads, dims.length, dims.kv_length)


def _read(dims: Dims, mask: Tensor | None, *, causal: bool) -> Read:
    if not isinstance(mask, CausalBias):
        return pairs_read(_pairs(dims), mask, causal=causal)
    if mask.variant is CausalVariant.UPPER_LEFT or mask.seq_len_q == mask.seq_len_kv:
        return pairs_read(_pairs(dims), causal=True)
    return Read(dims.batch * dims.heads * int(below(dims.length, dims.kv_length, 1)))


def _bytes(dims: Dims, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> int:
    read = sum(stored(unwrapped(x)) // x.itemsize for x in (q, k, v))
    written = dims.batch * dims.heads * dims.length * dims.value_dim
    added = 0 if mask is None else stored(unwrapped(mask))
    return int((read + written) * dims.itemsize + added)
