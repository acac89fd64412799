"""`torch.nn.functional.multi_head_attention_forward`: what `torch.nn.MultiheadAttention` calls.

    pairs = batch * heads * n * (m + added keys), of which masks let some through

Only attention between the projections is read here, which are counted by themselves. Every query
reads a key that `add_bias_kv` or `add_zero_attn` adds. With `need_weights` PyTorch keeps n x m
numbers, so bytes hold them three times: scores written, weights written, weights read.
"""

from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from types import SimpleNamespace
from typing import Any, ClassVar, Final, final

from torch import Tensor
from torch.nn.functional import multi_head_attention_forward

from attncost.core.dims import Dims
from attncost.cost.counting.apis.interface import (
    AttentionApi,
    AttentionCall,
    Given,
    itemsize,
    learns,
)
from attncost.cost.counting.formulas.traffic import stored
from attncost.cost.counting.masks import Read, pairs_read
from attncost.cost.counting.vmapped import is_vmapped, lanes, unwrapped

_SIGNATURE: Final = signature(multi_head_attention_forward)
_WEIGHTS: Final = tuple(name for name in _SIGNATURE.parameters if "proj_" in name)


@final
class MultiHeadAttentionForward(AttentionApi):
    """Attention with its projections, which open it."""

    __slots__ = ()
    opens: ClassVar[bool] = True

    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Return the function."""
        return (multi_head_attention_forward,)

    def read(self, *args: Given, **kwargs: Given) -> tuple[AttentionCall, ...] | None:
        """Return the call; None if PyTorch refuses it, or in a batch of models.

        There `vmap` projects with batched products, which no one can tell from those of attention.
        """
        bound = _SIGNATURE.bind(*args, **kwargs)
        bound.apply_defaults()
        given = SimpleNamespace(**bound.arguments, hinted=False)
        if _takes_the_hint(given):
            given.hinted, given.attn_mask = True, None
        dims = _dims(given)
        if dims is None or not _fits(given, dims):
            return None
        if is_vmapped(*(bound.arguments[name] for name in _WEIGHTS)):
            return None
        repeats = lanes(*bound.arguments.values())
        read = _read(given, dims)
        return (
            AttentionCall(
                dims=replace(dims, batch=dims.batch * repeats),
                useful=repeats * read.pairs,
                executed=repeats * dims.batch * dims.heads * dims.length * dims.kv_length,
                bytes=_bytes(given, dims, repeats),
                learns=_learns(given),
                learns_bias=any(map(learns, _masks(given))),
                unknown=read.unknown,
            ),
        )


def _takes_the_hint(given: Given) -> bool:
    """Say whether PyTorch takes `is_causal` at its word, and never looks at the mask."""
    hint = given.is_causal and given.attn_mask is not None
    return bool(hint and given.key_padding_mask is None and not given.need_weights)


def _masks(given: Given) -> tuple[Tensor | None, Tensor | None]:
    return given.attn_mask, given.key_padding_mask


def _dims(given: Given) -> Dims | None:
    """Return the sizes of attention, added keys included."""
    q, heads = given.query, given.num_heads
    if q.is_nested or q.dim() not in (2, 3) or not q.shape[-1] or q.shape[-1] % heads:
        return None
    return Dims(
        batch=int(q.shape[1]) if q.dim() == 3 else 1,
        heads=heads,
        length=int(q.shape[0]),
        kv_length=int(given.key.shape[0] if given.static_k is None else given.static_k.shape[1])
        + _added(given),
        head_dim=int(q.shape[-1]) // heads,
        itemsize=itemsize(q),
    )


def _added(given: Given) -> int:
    return (given.bias_k is not None) + bool(given.add_zero_attn)


def _fits(given: Given, dims: Dims) -> bool:
    (b, h, n), m = (dims.batch, dims.heads, dims.length), dims.kv_length - _added(given)
    mask, key_mask = _masks(given)
    if mask is not None and tuple(mask.shape) not in ((n, m), (b * h, n, m)):
        return False
    return key_mask is None or tuple(key_mask.shape) == ((b, m) if given.query.dim() == 3 else (m,))


def _read(given: Given, dims: Dims) -> Read:
    b, h, n, m = dims.batch, dims.heads, dims.length, dims.kv_length
    if given.hinted:
        return pairs_read((b, h, n, m), causal=True)
    added = _added(given)
    mask, key_mask = _masks(given)
    read = pairs_read((b, h, n, m - added), mask, key_mask=key_mask, blocks=True)
    return Read(read.pairs + b * h * n * added, read.unknown)


def _bytes(given: Given, dims: Dims, repeats: int) -> int:
    b, h, n, m = dims.batch, dims.heads, dims.length, dims.kv_length
    weights = 3 * n * m if given.need_weights else 0
    moved = repeats * b * h * (2 * (n + m) * dims.head_dim + weights) * dims.itemsize
    return int(moved) + sum(stored(unwrapped(mask)) for mask in _masks(given) if mask is not None)


def _learns(given: Given) -> tuple[bool, bool, bool]:
    """Return whether queries, keys and values learn, from what they are projected from."""
    apart, packed = given.use_separate_proj_weight, given.in_proj_weight
    q_weight, k_weight, v_weight = (
        (given.q_proj_weight, given.k_proj_weight, given.v_proj_weight) if apart else [packed] * 3
    )
    projected = (
        (given.query, q_weight, given.in_proj_bias),
        (given.key, k_weight, given.in_proj_bias, given.bias_k),
        (given.value, v_weight, given.in_proj_bias, given.bias_v),
    )
    static = (None, given.static_k, given.static_v)
    q, k, v = (
        any(map(learns, made_of)) if instead is None else learns(instead)
        for instead, made_of in zip(static, projected, strict=True)
    )
    return q, k, v
