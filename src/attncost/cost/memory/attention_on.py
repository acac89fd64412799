"""Which of PyTorch's kernels `scaled_dot_product_attention` becomes on a GPU, run on fake tensors.

PyTorch asks the GPU before it chooses; where there is none, fake tensors get attention spelled out
with all scores, whose memory grows with the square of the length though the kernel's does not. So
the choice is made here, by PyTorch's own rules (`sdp_utils.cpp`, and the page of the function), and
the kernel's own operation is run, whose autograd keeps what the real one keeps:

    flash       16 bits, no mask, at most 256 features, causal only for as many keys as queries;
                keeps queries, keys, values, output and one number of 32 bits a row
    efficient   16 or 32 bits, masks, no grouped heads, features in whole units of 16 bytes;
                keeps the same, and the mask as numbers for every score
    math        anything; keeps all scores

Not measured on a GPU yet. Left out is cuDNN's attention, which recent versions prefer on some GPUs,
and which keeps what flash does; and rules for GPUs older than compute capability 8.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias, final

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention import SDPBackend

from attncost.core.errors import UnsupportedOption

_ATEN: Final = torch.ops.aten
_HALF: Final = (torch.float16, torch.bfloat16)
_FLASH_FEATURES: Final = 256
# Flash pads features to a multiple of it, efficient attention masks to one of the other.
_FLASH_UNIT: Final = 8
_MASK_UNIT: Final = 16
_BYTES: Final = 16


@final
@dataclass(frozen=True, slots=True)
class _Call:
    """One call of attention, of (batch, heads, length, features)."""

    q: Tensor
    k: Tensor
    v: Tensor
    mask: Tensor | None
    dropout: float
    causal: bool
    scale: float
    grouped: bool


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Return what `scaled_dot_product_attention` does, by the operation that a GPU would run.

    Args:
        query: Queries (..., heads, length, features), fake, of any device.
        key: Keys (..., heads, length of keys, features).
        value: Values, as keys; their features may be others.
        attn_mask: Bool, True = may be read, or numbers that are added to scores.
        dropout_p: The chance that a weight is dropped.
        is_causal: Whether a query reads the keys up to its own place, counted from the first.
        scale: What scores are multiplied with; one over the root of the features if left out.
        enable_gqa: Whether several heads of queries share one of keys.

    Raises:
        UnsupportedOption: If the kernels that could run it are switched off.
    """
    q, k, v = (_lowered(x) for x in (query, key, value))
    mask = None if attn_mask is None else _lowered(attn_mask)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    call = _Call(q, k, v, mask, dropout_p, is_causal, scale, enable_gqa)
    for number in torch._C._get_sdp_priority_order():
        found = _KERNELS.get(number)
        if found and found.enabled() and found.can(call):
            return found.run(call)
    raise UnsupportedOption(
        f"no kernel of attention that is switched on can run {q.dtype} of {tuple(q.shape)} on a "
        "GPU: switch on more of them, see torch.nn.attention.sdpa_kernel."
    )


def _lowered(x: Tensor) -> Tensor:
    """Return a tensor in the dtype that autocast would bring it to."""
    if not torch.is_autocast_enabled("cuda") or not x.is_floating_point():
        return x
    return x.to(torch.get_autocast_dtype("cuda"))


def _fusable(call: _Call) -> bool:
    """Say what all fused kernels ask for."""
    tensors = (call.q, call.k, call.v)
    return all(
        x.dim() == 4 and x.dtype == call.q.dtype and x.stride(-1) == 1 and x.numel() > 0
        for x in tensors
    ) and (call.q.shape[-1] == call.k.shape[-1])


def _heads_match(call: _Call) -> bool:
    q, k, v = (x.shape[:2] for x in (call.q, call.k, call.v))
    if q == k == v:
        return True
    return call.grouped and q[0] == k[0] == v[0] and k[1] == v[1] and q[1] % k[1] == 0


def _can_flash(call: _Call) -> bool:
    features = {x.shape[-1] for x in (call.q, call.k, call.v)}
    square = call.q.shape[-2] == call.k.shape[-2]
    return (
        _fusable(call)
        and _heads_match(call)
        and call.q.dtype in _HALF
        and call.mask is None
        and len(features) == 1
        and max(features) <= _FLASH_FEATURES
        and (square or not call.causal)
    )


def _can_be_efficient(call: _Call) -> bool:
    if not _fusable(call) or call.q.dtype not in (*_HALF, torch.float32):
        return False
    unit = _BYTES // call.q.itemsize
    whole = all(x.shape[-1] % unit == 0 for x in (call.q, call.v))
    return whole and call.q.shape[:2] == call.k.shape[:2] == call.v.shape[:2]


def _flash(call: _Call) -> Tensor:
    features = call.q.shape[-1]
    missing = -features % _FLASH_UNIT
    q, k, v = (functional.pad(x, (0, missing)) if missing else x for x in (call.q, call.k, call.v))
    out: Tensor = _ATEN._scaled_dot_product_flash_attention(
        q, k, v, call.dropout, call.causal, False, scale=call.scale
    )[0]
    return out[..., :features] if missing else out


def _efficient(call: _Call) -> Tensor:
    learns = torch.is_grad_enabled() and any(x.requires_grad for x in (call.q, call.k, call.v))
    out: Tensor = _ATEN._scaled_dot_product_efficient_attention(
        call.q,
        call.k,
        call.v,
        _bias(call),
        learns,
        call.dropout,
        call.causal,
        scale=call.scale,
    )[0]
    return out


def _math(call: _Call) -> Tensor:
    out: Tensor = _ATEN._scaled_dot_product_attention_math(
        call.q,
        call.k,
        call.v,
        _numbers(call.mask, call.q.dtype),
        call.dropout,
        call.causal,
        None,
        scale=call.scale,
        enable_gqa=call.grouped,
    )[0]
    return out


def _numbers(mask: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """Return a mask as numbers to add."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.zeros_like(mask, dtype=dtype).masked_fill_(mask.logical_not(), float("-inf"))


def _bias(call: _Call) -> Tensor | None:
    """Return a mask as efficient attention reads it: for each score, in whole units of 16."""
    mask = _numbers(call.mask, call.q.dtype)
    if mask is None:
        return None
    mask = mask.expand(*call.q.shape[:3], call.k.shape[2])
    missing = -mask.shape[-1] % _MASK_UNIT
    if missing:
        return functional.pad(mask, (0, missing))[..., : mask.shape[-1]]
    return mask if all(step % _MASK_UNIT == 0 for step in mask.stride()[:3]) else mask.contiguous()


@final
@dataclass(frozen=True, slots=True)
class _Kernel:
    """One kernel: whether it is switched on, can run a call, and the run."""

    enabled: Callable[[], bool]
    can: Callable[[_Call], bool]
    run: Callable[[_Call], Tensor]


_Kernels: TypeAlias = dict[int, _Kernel]
_KERNELS: Final[_Kernels] = {
    SDPBackend.FLASH_ATTENTION.value: _Kernel(
        torch.backends.cuda.flash_sdp_enabled, _can_flash, _flash
    ),
    SDPBackend.EFFICIENT_ATTENTION.value: _Kernel(
        torch.backends.cuda.mem_efficient_sdp_enabled, _can_be_efficient, _efficient
    ),
    SDPBackend.MATH.value: _Kernel(torch.backends.cuda.math_sdp_enabled, lambda _: True, _math),
}
