"""What one call of a model of transformers reads, by what its attention function makes of masks.

Without a mask, `eager` reads all keys and `sdpa` those up to the query if the layer is causal, both
counted from the first. With one of all pairs, both read what it shows. What such a mask shows is
told in a few words where it can be; else one mask is kept for all the layers that share it.
"""

from functools import partial
from typing import Final, NamedTuple, final

import torch
from jaxtyping import Bool, Shaped
from torch import Tensor

from attncost.core.errors import UnsupportedOption
from attncost.integrations.hf.arguments import Arguments
from attncost.integrations.hf.layers import crosses
from attncost.integrations.hf.reads import Reads
from attncost.integrations.hf.register import ours
from attncost.integrations.hf.told import told
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.view.capture.hosts.bands import Band, band
from attncost.view.capture.hosts.hugging_face_calls import Call
from attncost.view.capture.hosts.once import Once

_OF_TORCH: Final = ("eager", "sdpa", "flex_attention")
_NEXT_STEP: Final = "model.set_attn_implementation('sdpa') first, or leave it out with layers=..."


class _Shown(NamedTuple):
    """What a mask of all pairs says: of all keys, and of those up to the last that is read."""

    whole: Band | None
    filled: Band | None
    used: int


@final
class Reader:
    """Reads masks, each once for all layers that share it."""

    def __init__(self) -> None:
        self._shown = Once(_shown)
        self._added: dict[torch.dtype, Once[Tensor]] = {}

    def __call__(self, name: str, call: Call, asked: Arguments) -> Reads:
        """Return what the queries of a call read, what was hung into the layer aside.

        Raises:
            UnsupportedOption: If that is not known.
        """
        query, key, _ = call.qkv
        sizes = query.shape[0], query.shape[2], key.shape[2]
        if isinstance(call.mask, Tensor) and call.mask.ndim == 4:
            return self._of_pairs(call, call.mask, sizes)
        if ours(call.implementation) is not None or "flash" in call.implementation:
            reads = told(call.module, query, key, call.mask, asked)
            written = reads.dense if isinstance(reads.rule, Full) else None
            return reads if written is None else self._of_pairs(call, written, sizes)
        if call.implementation not in _OF_TORCH:
            raise UnsupportedOption(
                f"{name} computes by {call.implementation!r}, whose weights "
                f"capture does not know: {_NEXT_STEP}"
            )
        if call.mask is not None:
            raise UnsupportedOption(
                f"{name} computes by {call.implementation!r} with a mask that cannot be read "
                f"({type(call.mask).__name__}): {_NEXT_STEP}"
            )
        return _without(call, asked, sizes)

    def _of_pairs(self, call: Call, mask: Tensor, sizes: tuple[int, int, int]) -> Reads:
        batch, n, m = sizes
        mask, query = mask[..., :m], call.qkv[0]
        shown = self._shown(mask)
        if shown.filled is not None and not crosses(call.module, reads_all=True):
            return _in_words(shown.filled, (batch, n, shown.used), held=m)
        if shown.whole is not None:
            return _in_words(shown.whole, sizes, held=m)
        added = self._added.setdefault(query.dtype, Once(partial(_added, dtype=query.dtype)))
        return Reads(sizes, Full(), dense=added(mask), first=(m - n, 0))


def _in_words(said: Band, sizes: tuple[int, int, int], *, held: int) -> Reads:
    _, n, m = sizes
    return Reads(
        sizes,
        said.pattern,
        key_mask=None if bool(said.key_mask.all()) else said.key_mask,
        segments=said.segments,
        first=(m - n, 0),
        held=held,
    )


def _without(call: Call, asked: Arguments, sizes: tuple[int, int, int]) -> Reads:
    """Return what is read without a mask, as the functions of transformers have it."""
    batch, n, m = sizes
    causal = asked.is_causal
    if causal is None:
        causal = bool(getattr(call.module, "is_causal", True))
    if call.implementation != "sdpa" or n == 1 or not causal:
        return Reads(sizes, Full(), first=(m - n, 0))
    # The end of a static cache is not filled yet.
    return Reads((batch, n, min(n, m)), Causal(), held=m)


def _shown(mask: Shaped[Tensor, "b h n m"]) -> _Shown:
    n, m = mask.shape[2:]
    visible = mask if mask.dtype == torch.bool else ~_hidden(mask)
    # What is added to scores, beside hiding some, needs all its numbers.
    weighs = mask.dtype != torch.bool and bool((mask != 0).logical_and_(visible).any())
    if mask.shape[1] > 1 or weighs:
        return _Shown(None, None, m)
    visible = visible[:, 0]
    read = visible.any(0).any(0).nonzero()
    used = max(n, int(read[-1]) + 1 if len(read) else n)
    filled = band(visible[..., :used]) if used < m else None
    return _Shown(band(visible), filled, used)


def _added(mask: Tensor, *, dtype: torch.dtype) -> Tensor:
    """Return a mask of all pairs as it is added to scores."""
    if mask.dtype != torch.bool:
        return mask.detach().masked_fill(_hidden(mask), -torch.inf).to(dtype)
    return mask.new_zeros(mask.shape, dtype=dtype).masked_fill_(~mask, -torch.inf)


def _hidden(mask: Tensor) -> Bool[Tensor, "b h n m"]:
    if not mask.is_floating_point():
        raise UnsupportedOption(
            f"a mask with 4 axes must be boolean or floating-point, got {mask.dtype}: cast it."
        )
    return mask <= torch.finfo(mask.dtype).min
