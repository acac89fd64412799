"""The largest attention logit of a step: max of q k scale over the pairs that are read.

Logits that grow without bound announce a run that diverges: Dehghani et al. 2023, arXiv:2302.05442.
Calls of attention are watched as they are made, and their scores computed once more a block of
queries at a time, so memory grows with n + m; on a CPU that takes two to three times as long as
the call itself.
Biases and caps on scores are left out. Only functions of attention are seen: one that is written
out as matrix products and a softmax is not, nor are fused calls of other packages.
"""

import inspect
from collections.abc import Callable, Iterable
from functools import reduce
from operator import or_
from typing import Any, Final, TypeAlias, final

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from attncost.cost.counting.masks import hides
from attncost.kernels.attention import attention
from attncost.patterns.full import Full

# Scores that are in memory at once.
_AT_ONCE: Final = 1 << 22
_SOFTMAX: Final = (functional.softmax, torch.softmax, Tensor.softmax)
# Says which pairs are hidden of a block of queries.
_Hidden: TypeAlias = Callable[[slice], Tensor | None]


@final
class LogitWatch(TorchFunctionMode):
    """Watch the calls of attention made inside; read `largest` and `notes` afterwards.

    Watched are `scaled_dot_product_attention`, `nn.MultiheadAttention` and `attncost.attention`,
    outside compiled code.

    >>> q = torch.eye(4)[None, None]
    >>> with LogitWatch() as watch:
    ...     _ = functional.scaled_dot_product_attention(q, 6 * q, q)
    >>> watch.largest
    3.0
    """

    def __init__(self) -> None:
        super().__init__()
        self._largest: Tensor | None = None
        self._softmax = 0
        self._passed: dict[str, None] = {}

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 -- what the function returns
        """Look at a call, then make it; what it calls itself is not looked at."""
        kwargs = kwargs or {}
        look = _LOOKS.get(func)
        if look is not None:
            self._see(look(*args, **kwargs), func.__name__)
        self._softmax += func in _SOFTMAX
        return func(*args, **kwargs)

    def _see(self, found: "Tensor | str", name: str) -> None:
        if isinstance(found, str):
            self._passed[f"{name} {found}"] = None
            return
        before = self._largest
        # Layers may lie on several devices.
        self._largest = found if before is None else torch.maximum(before.to(found.device), found)

    @property
    def largest(self) -> float | None:
        """The largest logit; None if no call was looked at. It waits for an accelerator."""
        return None if self._largest is None else float(self._largest)

    @property
    def notes(self) -> tuple[str, ...]:
        """What it does not cover."""
        notes = [f"largest logit: {passed}" for passed in self._passed]
        if self._largest is None and not self._passed:
            notes.append("largest logit: no call of attention was seen, so none is known")
        elif self._softmax:
            notes.append(
                f"largest logit: {self._softmax} calls of softmax outside the attention that was "
                "seen; if they are attention too, it may be larger"
            )
        return tuple(notes)


def _largest(q: Tensor, k: Tensor, scale: float | None, hidden: _Hidden) -> Tensor | str:
    """Return the largest logit of a call, or why it was not looked at."""
    if any(type(x) not in (Tensor, torch.nn.Parameter) or x.is_nested for x in (q, k)):
        return "of nested or other special tensors is not looked at"
    with torch.no_grad(), torch.autocast(q.device.type, enabled=False):
        q, k = q.detach(), k.detach()
        kind = torch.promote_types(q.dtype, torch.float32)
        q, k = q.to(kind) * (q.shape[-1] ** -0.5 if scale is None else scale), k.to(kind)
        if q.ndim > 2 and k.shape[-3] != q.shape[-3] and k.shape[-3] > 1:
            k = k.repeat_interleave(q.shape[-3] // k.shape[-3], -3)
        largest = q.new_full((), -torch.inf)
        per_row = max(1, q[..., 0].numel() // max(1, q.shape[-2]) * k.shape[-2])
        rows = max(1, _AT_ONCE // per_row)
        for start in range(0, q.shape[-2], rows):
            block = slice(start, min(start + rows, q.shape[-2]))
            scores = q[..., block, :] @ k.mT
            mask = hidden(block)
            if mask is not None:
                scores = scores.masked_fill(mask, -torch.inf)
            if scores.numel():
                largest = torch.maximum(largest, scores.amax())
    return largest


def _sdpa(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor | str:
    if attn_mask is not None and type(attn_mask) not in (Tensor, torch.nn.Parameter):
        return f"with a {type(attn_mask).__name__} is not looked at"

    def hidden(block: slice) -> Tensor | None:
        if is_causal:
            return _later(block, key)
        return None if attn_mask is None else _blocked(attn_mask, block, blocks=False)

    return _largest(query, key, scale, hidden)


def _later(block: slice, key: Tensor) -> Tensor:
    """Return the keys after each query; PyTorch aligns the first query with the first key."""
    query = torch.arange(block.start, block.stop, device=key.device)
    return torch.arange(key.shape[-2], device=key.device) > query[:, None]


def _blocked(mask: Tensor, block: slice, *, blocks: bool) -> Tensor:
    """Return what a mask hides of a block of queries; `blocks` if True hides in it."""
    some = mask if mask.ndim < 2 or mask.shape[-2] == 1 else mask[..., block, :]
    return hides(some, blocks=blocks)


def _multihead(*args: Any, **kwargs: Any) -> Tensor | str:  # noqa: ANN401 -- what is watched
    """Project queries and keys once more, as what lies inside the function is out of sight."""
    call = _MULTIHEAD.bind(*args, **kwargs)
    call.apply_defaults()
    a = call.arguments
    if a["bias_k"] is not None or a["static_k"] is not None or a["add_zero_attn"]:
        return "with keys of its own is not looked at"
    q, k = _projected(a)
    if a["query"].ndim == 2:
        q, k = q[:, None], k[:, None]
    # (length, batch, features) to (batch, heads, length, head_dim)
    q, k = (x.unflatten(-1, (a["num_heads"], -1)).permute(1, 2, 0, 3) for x in (q, k))
    mask, padding = a["attn_mask"], a["key_padding_mask"]
    if mask is not None and mask.ndim == 3:
        mask = mask.unflatten(0, (-1, a["num_heads"]))
    if padding is not None:
        padding = padding.reshape(-1, 1, 1, padding.shape[-1])

    def hidden(block: slice) -> Tensor | None:
        found = [_blocked(x, block, blocks=True) for x in (mask, padding) if x is not None]
        return reduce(or_, found) if found else None

    return _largest(q, k, None, hidden)


def _projected(a: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """Return queries and keys with their biases."""
    features = a["embed_dim_to_check"]
    if a["use_separate_proj_weight"]:
        weights = a["q_proj_weight"], a["k_proj_weight"]
    else:
        weights = a["in_proj_weight"].split(features)[:2]
    biases = (None, None) if a["in_proj_bias"] is None else a["in_proj_bias"].split(features)[:2]
    with torch.no_grad():
        q = functional.linear(a["query"], weights[0], biases[0])
        return q, functional.linear(a["key"], weights[1], biases[1])


def _ours(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    pattern: Any = Full(),  # noqa: ANN401
    *,
    key_mask: Tensor | None = None,
    segments: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    **others: object,
) -> Tensor | str:
    n, m = q.shape[-2], k.shape[-2]

    def hidden(block: slice) -> Tensor:
        query = torch.arange(block.start, block.stop, device=q.device)[:, None] + (m - n)
        read: Tensor = pattern.allowed(query, torch.arange(m, device=q.device))
        if key_mask is not None:
            read = read & key_mask[:, None, None]
        if segments is not None:
            tokens = segments.shape[1]
            own = segments[:, tokens - n :][:, block]
            read = read & (own[:, None, :, None] == segments[:, None, None, tokens - m :])
        return ~read if bias is None else ~read | _blocked(bias, block, blocks=True)

    return _largest(q, k, scale, hidden)


_MULTIHEAD: Final = inspect.signature(functional.multi_head_attention_forward)
_LOOKS: Final[dict[Callable[..., Any], Callable[..., Tensor | str]]] = {
    functional.scaled_dot_product_attention: _sdpa,
    functional.multi_head_attention_forward: _multihead,
    attention: _ours,
}
