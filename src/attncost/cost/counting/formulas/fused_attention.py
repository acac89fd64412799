"""What operations of fused attention cost where no function that calls them is seen.

That is so in TorchScript, in graphs of operations, and where a backward pass runs the forward pass
once more, since PyTorch's function modes are off there. With pairs as the functions have them:

    forward   2 pairs (d + e)
    backward  2 pairs (2 d + 2 e), and 2 pairs d in `executed` alone: scores are computed again

so that `useful` and `dense` are those of the model and only `executed` knows of recomputation. A
mask without values hides nothing, nor does a bias of packed documents, which is rare.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeAlias

import torch
from torch import Tensor

from attncost.core.cost import Cost
from attncost.core.options import Options
from attncost.cost.counting.apis.flex import FlexAttention
from attncost.cost.counting.apis.interface import AttentionCall
from attncost.cost.counting.apis.ours import called
from attncost.cost.counting.apis.sdpa import ScaledDotProductAttention
from attncost.cost.counting.packed import Packed, packed_call
from attncost.cost.counting.registry import ATTENTION, price
from attncost.kernels.calls import checked
from attncost.kernels.folded import Folded
from attncost.kernels.handles import whole

_TENSORS: Final = ("query", "key", "value")
# Numbers that PyTorch gives to masks of its efficient attention: the first query of a causal one
# is the first key, or the last query the last key.
_FROM_FIRST, _FROM_LAST = 1, 2
_OPTIONS: Final = ("key_mask", "segments", "bias", "alibi", "sink", "softcap", "dropout_p")

# What an operation was given, by name: PyTorch has no type for all of it.
Given: TypeAlias = Any
Reader: TypeAlias = Callable[[dict[str, Given]], AttentionCall]


def _forward(operation: str, read: Reader) -> None:
    """Price an operation of the forward pass."""

    @price(operation, step=ATTENTION)
    def formula(*args: Given, out: Given, **kwargs: Given) -> Cost:
        return read(_named(operation, args, kwargs)).forward()


def _backward(operation: str, read: Reader) -> None:
    """Price an operation that computes the gradients of a forward one."""

    @price(operation, step=ATTENTION)
    def formula(*args: Given, out: Given, **kwargs: Given) -> Cost:
        given = _named(operation, args, kwargs)
        q, k, v, bias = given.get("grad_input_mask") or (True, True, True, False)
        bias = bias or given.get("bias_requires_grad", False) or any(given.get("wanted", ())[:2])
        call = replace(read(given), learns=(q, k, v), learns_bias=bool(bias))
        return call.backward() + call.again()


def _named(operation: str, args: tuple[Given, ...], kwargs: dict[str, Given]) -> dict[str, Given]:
    """Return arguments by name, of the first overload that takes them."""
    library, name = operation.split("::")
    packet = getattr(getattr(torch.ops, library), name)
    for overload in packet.overloads():
        arguments = getattr(packet, overload)._schema.arguments
        pairs = list(zip(arguments, args, strict=False))
        if all("Tensor" in str(one.type) for one, given in pairs if isinstance(given, Tensor)):
            return {one.name: given for one, given in pairs} | kwargs
    raise AssertionError(f"{operation} was called, so an overload takes its arguments")


def _scaled(given: dict[str, Given]) -> AttentionCall:
    """Read what `scaled_dot_product_attention` runs: (b, h, n, d), both beginning together."""
    mask = given.get("attn_mask", given.get("attn_bias"))
    q, k, v = (given[name] for name in _TENSORS)
    return _dense(q, k, v, mask, causal=given.get("is_causal", False))


def _dense(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, causal: bool) -> AttentionCall:
    # Going back, no mask is a mask of no elements.
    mask = mask if mask is not None and mask.numel() else None
    shared = q.shape[1] != k.shape[1]
    calls = ScaledDotProductAttention().read(q, k, v, mask, is_causal=causal, enable_gqa=shared)
    assert calls, "the operation ran, so its arguments belong together"
    return calls[0]


def _flash(given: dict[str, Given]) -> AttentionCall:
    """Read FlashAttention: (b, n, h, d), or documents side by side."""
    left, right = given.get("window_size_left"), given.get("window_size_right")
    window = (-1 if left is None else left, -1 if right is None else right)
    if given.get("is_causal"):
        window = (window[0], 0)
    return _packed(given, ("cum_seq_q", "cum_seq_k"), ("max_q", "max_k"), window=window)


def _varlen(given: dict[str, Given]) -> AttentionCall:
    """Read `varlen_attn`: documents side by side."""
    left, right = given.get("window_size") or (-1, -1)
    window = (left, 0 if given.get("is_causal") else right)
    return _packed(given, ("cu_seq_q", "cu_seq_k"), ("max_q", "max_k"), window=window)


def _cudnn(given: dict[str, Given]) -> AttentionCall:
    """Read cuDNN's attention: as `_scaled`, or documents side by side."""
    if given.get("cum_seq_q") is None:
        return _scaled(given)
    window = (-1, 0 if given.get("is_causal") else -1)
    return _packed(given, ("cum_seq_q", "cum_seq_k"), ("max_q", "max_k"), window=window)


def _efficient(given: dict[str, Given]) -> AttentionCall:
    """Read memory-efficient attention: (b, n, h, d), or documents side by side in one sequence."""
    kind, width, bias = given["custom_mask_type"], given.get("window_size"), given.get("bias")
    if bias is not None and given.get("cu_seqlens_q") is None and kind != _FROM_LAST:
        q, k, v = (given[name].transpose(1, 2) for name in _TENSORS)
        return _dense(q, k, v, bias, causal=kind == _FROM_FIRST)
    return _packed(
        given,
        ("cu_seqlens_q", "cu_seqlens_k"),
        ("max_seqlen_q", "max_seqlen_k"),
        window=(width - 1 if width else -1, 0 if kind else -1),
        from_first=kind == _FROM_FIRST,
    )


def _packed(
    given: dict[str, Given],
    starts: tuple[str, str],
    longest: tuple[str, str],
    *,
    window: tuple[int, int],
    from_first: bool = False,
) -> AttentionCall:
    q, k, v = (given[name] for name in _TENSORS)
    queries, keys = (given.get(name) for name in starts)
    if queries is None:
        b, n, m = q.shape[0], q.shape[1], k.shape[1]
        queries, keys = (torch.arange(b + 1, device="cpu") * size for size in (n, m))
    else:
        n, m = (given[name] for name in longest)
    packed = Packed(
        queries=queries,
        keys=keys,
        used=given.get("seqused_k"),
        longest=(int(n), int(m)),
        window=window,
        from_first=from_first,
    )
    return packed_call(q, k, v, packed)


def _ours(given: dict[str, Given]) -> AttentionCall:
    """Read our own operation, whose pattern comes taken apart."""
    options = Options(**{name: given[name] for name in _OPTIONS if given.get(name) is not None})
    pattern = whole(given["pattern"], tuple(given["numbers"]))
    return called(checked(given["q"], given["k"], given["v"], pattern, options), Folded())


@price("higher_order::flex_attention_backward", step=ATTENTION)
def _flex_backward(*args: Given, out: Given, **_: Given) -> Cost:
    q, k, v, _out, _lse, _grad, _grad_lse, score_mod, _joint, *rest = args
    call = replace(FlexAttention().read(q, k, v, score_mod, *rest)[0], learns=(True, True, True))
    return call.backward() + call.again()


_READERS: Final[dict[str, Reader]] = {
    "aten::_scaled_dot_product_flash_attention": _scaled,
    "aten::_scaled_dot_product_flash_attention_for_cpu": _scaled,
    "aten::_scaled_dot_product_efficient_attention": _scaled,
    "aten::_scaled_dot_product_cudnn_attention": _scaled,
    "aten::_scaled_dot_product_fused_attention_overrideable": _scaled,
    "aten::_flash_attention_forward": _flash,
    "aten::_flash_attention_forward_no_dropout_inplace": _flash,
    "aten::_efficient_attention_forward": _efficient,
    "aten::_cudnn_attention_forward": _cudnn,
    "attncost::blockwise": _ours,
    "torch_attn::_varlen_attn": _varlen,
}
for _operation, _reader in _READERS.items():
    _forward(_operation, _reader)
    _backward(f"{_operation.removesuffix('_forward')}_backward", _reader)
