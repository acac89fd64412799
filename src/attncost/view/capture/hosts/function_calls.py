"""What a call of an attention function reads, in our words.

Read here are `scaled_dot_product_attention` and our `attention`. PyTorch's `is_causal` lets query i
read keys 0 to i, where ours stand at the end; where lengths differ, a rule says so. Axes before the
last three become one batch. A mask that is a band, padding or documents becomes that; any other one
becomes a bias, which may be n x m numbers and is made once for all layers that share the mask.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias, cast, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, broadcast_shapes
from torch.nn.attention.bias import CausalBias, CausalVariant

from attncost.core.autocast import autocast_type
from attncost.core.errors import UnsupportedOption
from attncost.core.options import Wishes
from attncost.core.unseen import unseen
from attncost.patterns.causal import Causal
from attncost.patterns.custom import Custom
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern
from attncost.view.capture.hosts.bands import band
from attncost.view.capture.hosts.once import Once

# What functions of PyTorch are given.
Given: TypeAlias = Any
_WEIGHED: Final = ("key_mask", "segments", "bias", "alibi", "softcap", "sink", "scale")


class Call(NamedTuple):
    """One call of attention.

    Attributes:
        q: Queries.
        k: Keys.
        v: Values.
        pattern: Which key each query reads, beside `wishes`.
        wishes: What else was asked, dropout left out.
        cross: Whether keys come from another sequence, as far as the call shows.
    """

    q: Float[Tensor, "b h n d"]
    k: Float[Tensor, "b g m d"]
    v: Float[Tensor, "b g m e"]
    pattern: Pattern
    wishes: Wishes
    cross: bool = False


@final
@dataclass(frozen=True, slots=True)
class _FromTheFirst:
    """The rule of PyTorch's `is_causal`: the first query stands at the first key.

    Attributes:
        ahead: Keys less queries.
    """

    ahead: int

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        return key <= query - self.ahead


def causal_from_the_first(n: int, m: int) -> Pattern:
    """Return the pattern of PyTorch's `is_causal` for n queries and m keys."""
    return Causal() if n == m else Custom(_FromTheFirst(m - n))


def wishes_of(**asked: Given) -> Wishes:
    """Return what is asked for and has a say in the weights."""
    found = {name: asked[name] for name in _WEIGHED if asked.get(name) is not None}
    return cast("Wishes", found)


def check_visible(function: str, *tensors: Tensor) -> None:
    """Refuse tensors whose numbers cannot be looked at one by one.

    Raises:
        UnsupportedOption: If there is such a tensor.
    """
    for x in tensors:
        where = "that is nested" if x.is_nested else unseen(x)
        if where is not None:
            raise UnsupportedOption(
                f"{function} was called with a tensor {where}, which cannot be captured: run the "
                "model without it, or choose other layers with layers=..."
            )


class Read(NamedTuple):
    """What masks say.

    Attributes:
        pattern: By position.
        key_mask: Which keys may be read; the batch is 1 if that is the same for all.
        segments: A number for each token, likewise.
        bias: Added to the scores.
    """

    pattern: Pattern = Full()
    key_mask: Bool[Tensor, "_ m"] | None = None
    segments: Int[Tensor, "_ m"] | None = None
    bias: Float[Tensor, "_ _ _ _"] | None = None

    def of_batch(self, batch: int) -> "Read":
        """Return the same for so many sequences."""
        key_mask, segments = (
            None if x is None else x.expand(batch, -1) for x in (self.key_mask, self.segments)
        )
        return self._replace(key_mask=key_mask, segments=segments)


@final
class FunctionCalls:
    """Reads calls; a mask that a model hands to layer after layer is looked at once."""

    def __init__(self) -> None:
        self._of_mask = {rank: Once(partial(_of_function, rank)) for rank in (2, 3, 4)}

    def scaled_dot_product(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Call:
        """Return a call of `scaled_dot_product_attention`.

        Raises:
            UnsupportedOption: If its tensors cannot be looked at.
        """
        del dropout_p, enable_gqa  # the one changes no weight, and shapes tell the other
        check_visible("scaled_dot_product_attention", query, key, value)
        q, k, v, several = _four_axes(query, key, value)
        if attn_mask is None or isinstance(attn_mask, CausalBias):
            read = Read(_spelt(attn_mask, q, k, causal=is_causal))
        else:
            check_visible("scaled_dot_product_attention", attn_mask)
            read = self._masked(attn_mask, several, len(q))
        wishes = wishes_of(**read._asdict(), scale=scale)
        q, k, v = map(as_computed, (q, k, v))
        return Call(q, k, v, read.pattern, wishes, cross=q.shape[2] > k.shape[2])

    def ours(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        pattern: Pattern = Full(),
        *,
        return_lse: bool = False,
        kernel: str = "auto",
        **wishes: Given,
    ) -> Call:
        """Return a call of `attention`.

        Raises:
            UnsupportedOption: If its tensors cannot be looked at.
        """
        del return_lse, kernel
        check_visible("attention", q, k, v)
        q, k, v = map(as_computed, (q, k, v))
        for name in ("key_mask", "segments"):  # a cache changes its own in place
            if wishes.get(name) is not None:
                wishes[name] = wishes[name].clone()
        return Call(q, k, v, pattern, wishes_of(**wishes))

    def _masked(self, mask: Tensor, several: tuple[int, ...], batch: int) -> Read:
        """Return what a mask says of a batch that was these axes before."""
        rank = len(several) + 3
        if rank <= 4:
            return self._of_mask[rank](mask).of_batch(batch)
        mask = _spread(mask, rank)
        return said(mask.expand(*several, *mask.shape[-3:]).flatten(0, -4)).of_batch(batch)


def as_computed(x: Tensor) -> Tensor:
    """Return a tensor as attention computes with it, narrower under autocast."""
    narrow = autocast_type(x.device.type)
    return x if narrow is None or x.dtype == torch.float64 else x.to(narrow)


def _four_axes(*qkv: Tensor) -> tuple[Tensor, Tensor, Tensor, tuple[int, ...]]:
    """Return queries, keys and values with the axes batch, heads, length, features.

    And the axes that are the batch now.
    """
    rank = max(x.dim() for x in qkv)
    laid = [_spread(x, rank) for x in qkv]
    several = broadcast_shapes(*(x.shape[:-3] for x in laid))
    q, k, v = (x.expand(*several, *x.shape[-3:]).flatten(0, -4) for x in laid)
    heads = max(x.shape[1] for x in (q, k, v))
    if k.shape[1] != v.shape[1]:
        k, v = (x.repeat_interleave(heads // x.shape[1], 1) for x in (k, v))
    return q.expand(-1, heads, -1, -1), k, v, tuple(several)[: rank - 3]


def _spread(x: Tensor, rank: int) -> Tensor:
    """Give a tensor as many axes as the others have, and one for heads if there is none."""
    x = x[(None,) * (rank - x.dim())]
    return x[None, None] if rank == 2 else x.unsqueeze(1) if rank == 3 else x


def _spelt(mask: CausalBias | None, q: Tensor, k: Tensor, *, causal: bool) -> Pattern:
    """Return the pattern of a call whose mask is no numbers."""
    if mask is not None and mask.variant is CausalVariant.LOWER_RIGHT:
        return Causal()
    if mask is None and not causal:
        return Full()
    return causal_from_the_first(q.shape[2], k.shape[2])


def _of_function(rank: int, mask: Tensor) -> Read:
    return said(_spread(mask, rank))


def said(mask: Tensor) -> Read:
    """Return what a mask with four axes says: True lets through, numbers are added.

    The lowest number that there is hides.
    """
    mask = mask.detach()
    if mask.dtype == torch.bool:
        reads, alone = mask, True
    else:
        lowest = mask == torch.finfo(mask.dtype).min
        mask = mask.masked_fill(lowest, -torch.inf) if bool(lowest.any()) else mask
        reads = ~mask.isneginf()
        alone = not bool((reads & (mask != 0)).any())
    if alone and mask.shape[1] == 1 and mask.shape[3] > 1:
        if mask.shape[2] == 1:
            return Read(key_mask=_unless_all(reads[:, 0, 0]))
        found = band(reads[:, 0])
        if found is not None:
            return Read(found.pattern, _unless_all(found.key_mask), found.segments)
    if mask.dtype == torch.bool:
        mask = torch.zeros(mask.shape, device=mask.device).masked_fill(~reads, -torch.inf)
    return Read(bias=mask)


def _unless_all(keys: Bool[Tensor, "b m"]) -> Bool[Tensor, "b m"] | None:
    return None if bool(keys.all()) else keys.clone()
