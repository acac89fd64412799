"""The masks of `torch.nn.MultiheadAttention`, in our words.

PyTorch blocks where a boolean mask is True and adds a mask of numbers to the scores. Here a key
that is blocked for all queries leaves through `key_mask`, and what is left is added. A mask that
says nothing is dropped, and one that says "causal" becomes the pattern, so that no n x m numbers
are needed; for that they are looked at, which a compiled or simulated call cannot do.
"""

import math
from dataclasses import dataclass
from typing import Final, NamedTuple, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import pad

from attncost.core.errors import ShapeError
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window

_PLAIN: Final = (Tensor, torch.nn.Parameter)
_AT_ONCE: Final = 1 << 16


class Reading(NamedTuple):
    """What a call reads: by which pattern, which keys, and what is added to the scores."""

    pattern: Pattern
    key_mask: Bool[Tensor, "b m"] | None
    bias: Float[Tensor, "_ _ _ m"] | None


@final
@dataclass(frozen=True, slots=True, eq=False)
class TorchMasks:
    """The masks of one call, as PyTorch spells them.

    Attributes:
        attn_mask: Axes (n, m) or (b h, n, m); True is blocked, numbers are added.
        key_padding_mask: Axes (b, m); likewise.
        is_causal: Whether no query reads a key behind it, whatever the masks say.
    """

    attn_mask: Tensor | None
    key_padding_mask: Tensor | None
    is_causal: bool

    def reading(
        self,
        pattern: Pattern,
        q: Float[Tensor, "b h n d"],
        k: Float[Tensor, "b h m d"],
        *,
        more: int = 0,
    ) -> Reading:
        """Return what a call reads.

        Args:
            pattern: What it reads without masks.
            q: Queries.
            k: Keys.
            more: How many keys there are behind those, which all queries read.

        Raises:
            ShapeError: If a mask does not belong to them.
        """
        causal, bias = self._scores(q, k)
        key_mask, added = self._keys(q, k)
        if added is not None:
            bias = added if bias is None else bias + added
        if causal:
            pattern = _without_ahead(pattern)
        if more and not isinstance(pattern, Full):
            # Those keys stand nowhere, so a pattern cannot say who reads them.
            hidden = _blocking(~pattern.mask(q.shape[2], k.shape[2], q.device), q.dtype)
            pattern, bias = Full(), hidden[None, None] if bias is None else bias + hidden
        return Reading(
            pattern,
            None if key_mask is None else pad(key_mask, (0, more), value=True),
            None if bias is None else pad(bias, (0, more)),
        )

    def _scores(
        self, q: Float[Tensor, "b h n d"], k: Float[Tensor, "b h m d"]
    ) -> tuple[bool, Float[Tensor, "_ _ n m"] | None]:
        """Return whether the call is causal, and what `attn_mask` adds apart from that."""
        if self.attn_mask is None:
            return self.is_causal, None
        (b, h, n, _), m = q.shape, k.shape[2]
        mask = _checked("attn_mask", self.attn_mask, (n, m), (b * h, n, m))
        said = _said(mask)
        if said is not None:
            return self.is_causal or said == Causal(), None
        bias = _added(mask, q.dtype)
        return self.is_causal, bias[None, None] if mask.dim() == 2 else bias.view(b, h, n, m)

    def _keys(
        self, q: Float[Tensor, "b h n d"], k: Float[Tensor, "b h m d"]
    ) -> tuple[Bool[Tensor, "b m"] | None, Float[Tensor, "b 1 1 m"] | None]:
        """Return which keys may be read, and what `key_padding_mask` adds to the others."""
        if self.key_padding_mask is None:
            return None, None
        mask = _checked("key_padding_mask", self.key_padding_mask, (k.shape[0], k.shape[2]))
        hidden = mask if mask.dtype == torch.bool else mask.detach().isneginf()
        bias = _added(mask, q.dtype).masked_fill(hidden, 0)
        known = _known(bias)
        return (
            None if known and not hidden.any() else ~hidden,
            None if mask is hidden or (known and not bias.any()) else bias[:, None, None],
        )


def _checked(name: str, mask: Tensor, *shapes: tuple[int, ...]) -> Tensor:
    """Return a mask that has one of these shapes."""
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise ShapeError(
            f"{name} must be boolean (True = blocked) or floating-point (added to the scores), "
            f"got {mask.dtype}."
        )
    if mask.shape not in shapes:
        expected = " or ".join(str(tuple(shape)) for shape in shapes)
        raise ShapeError(f"{name} must have shape {expected}, got {tuple(mask.shape)}.")
    return mask


def _added(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """Return what a mask adds to the scores."""
    return _blocking(mask, dtype) if mask.dtype == torch.bool else mask


def _blocking(blocked: Bool[Tensor, "*s"], dtype: torch.dtype) -> Float[Tensor, "*s"]:
    return torch.zeros_like(blocked, dtype=dtype).masked_fill(blocked, -math.inf)


def _known(mask: Tensor) -> bool:
    """Say whether the numbers of a mask may decide what is computed."""
    if torch.compiler.is_compiling() or mask.requires_grad or mask.is_meta:
        return False
    if type(mask) not in _PLAIN or torch._C._functorch.is_functorch_wrapped_tensor(mask):
        return False
    return not (mask.is_cuda and torch.cuda.is_current_stream_capturing())


def _said(mask: Tensor) -> Pattern | None:
    """Return the pattern that a mask spells out, if it is that of all keys or a causal one."""
    if not _known(mask):
        return None
    if not mask.numel():
        return Full()
    # The first query and the last key tell one from the other.
    corner = mask[..., 0, -1].flatten()[0].item()
    pattern = Causal() if corner in (True, -math.inf) else Full()
    n, m = mask.shape[-2:]
    # In pieces that stay in the cache; an accelerator would have to be waited for after each.
    rows = max(1, _AT_ONCE * n // mask.numel()) if mask.device.type == "cpu" else n
    keys = torch.arange(m, device=mask.device)
    for first in range(0, n, rows):
        some = mask[..., first : first + rows, :]
        queries = torch.arange(first, first + some.shape[-2], device=mask.device) + (m - n)
        hidden = ~pattern.allowed(queries[:, None], keys)
        expected = hidden if mask.dtype == torch.bool else _blocking(hidden, mask.dtype)
        if not bool((some == expected).all()):
            return None
    return pattern


def _without_ahead(pattern: Pattern) -> Pattern:
    """Return what a pattern reads up to the query, as plainly as possible."""
    if isinstance(pattern, Window):
        return Window(pattern.width - pattern.ahead)
    if isinstance(pattern, Full | Causal):
        return Causal()
    return pattern & Causal()
