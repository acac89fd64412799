"""What a model tells about the keys of one call: in its mask, its arguments or its modules."""

import sys
from typing import Final

import torch
from jaxtyping import Int
from torch import Tensor, nn

from attncost.core.errors import UnsupportedOption
from attncost.integrations.hf.arguments import Arguments
from attncost.integrations.hf.reads import Reads
from attncost.kernels.documents import unknown
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window

_NEXT_STEP: Final = "use attn_implementation='eager' or 'sdpa' for this model."


def told(module: nn.Module, query: Tensor, key: Tensor, mask: object, asked: Arguments) -> Reads:
    """Return what the queries of this call may read.

    Raises:
        UnsupportedOption: If the model contradicts itself, or says it in no way known here.
    """
    sizes = query.shape[0], query.shape[2], key.shape[2]
    if _goes_its_own_way(type(module)):
        raise UnsupportedOption(
            f"{type(module).__name__} treats the masks of flex attention in its own way, which "
            f"would drop ours: {_NEXT_STEP}"
        )
    if isinstance(mask, Reads):
        reads = _of_the_host(module, mask, sizes)
        _check_window(module, reads, asked)
    elif mask is None or (isinstance(mask, Tensor) and mask.ndim == 2):
        reads = Reads(
            sizes, _rule(module, asked), key_mask=_of_keys(mask, sizes), first=_at_end(sizes)
        )
    elif isinstance(mask, Tensor) and mask.ndim == 4:
        reads = Reads(sizes, Full(), dense=_pairs(mask), first=_at_end(sizes))
    else:
        kind = f"shape {tuple(mask.shape)}" if isinstance(mask, Tensor) else type(mask).__name__
        raise UnsupportedOption(f"a mask must have 2 or 4 axes, got {kind}: {_NEXT_STEP}")
    if asked.ends is not None:
        reads = _packed(reads, asked.ends)
    elif asked.position_ids is not None and (isinstance(mask, Reads) or reads.dense is None):
        _check_positions(reads, asked.position_ids)
    return reads


@torch._dynamo.assume_constant_result  # type: ignore[untyped-decorator]
def _goes_its_own_way(kind: type[nn.Module]) -> bool:
    """Say whether the file of a model knows of block masks, which `Reads` would be taken for."""
    return hasattr(sys.modules.get(kind.__module__), "BlockMask")


def _of_the_host(module: nn.Module, reads: Reads, sizes: tuple[int, int, int]) -> Reads:
    batch, n, m = sizes
    other_batch = reads.device is not None and reads.sizes[0] not in (1, batch)
    if (reads.sizes[1], reads.held) != (n, m) or other_batch:
        raise UnsupportedOption(
            f"{type(module).__name__} was given a mask for {reads.sizes[0]} x {reads.sizes[1]} x "
            f"{reads.held} (batch, queries, keys) but attends {batch} x {n} x {m}: {_NEXT_STEP}"
        )
    return reads


def _rule(module: nn.Module, asked: Arguments) -> Pattern:
    """Return the rule of a call without a mask of pairs."""
    causal = asked.is_causal
    if causal is None:
        causal = getattr(module, "is_causal", None)
    if causal is None:
        raise UnsupportedOption(
            f"{type(module).__name__} does not say whether it is causal (no mask, no is_causal): "
            + _NEXT_STEP
        )
    if asked.sliding_window is None:
        return Causal() if causal else Full()
    ahead = 0 if causal else asked.sliding_window - 1
    return Window(asked.sliding_window + ahead, ahead=ahead)


def _check_window(module: nn.Module, reads: Reads, asked: Arguments) -> None:
    """Refuse a window that the layer wants and its mask has not."""
    window = asked.sliding_window
    if window is None or reads.dense is not None:
        return
    # A model that reads both ways may count the token itself or not.
    most = window if isinstance(reads.rule, Window) and reads.rule.ahead else window - 1
    if not isinstance(reads.rule, Window) or reads.rule.before > most:
        raise UnsupportedOption(
            f"{type(module).__name__} wants a sliding window of {window}, but its mask is "
            f"{reads.rule}: one of them is wrong; check layer_types and sliding_window of the "
            "configuration."
        )


def _at_end(sizes: tuple[int, int, int]) -> tuple[int, int]:
    return sizes[2] - sizes[1], 0


def _of_keys(mask: Tensor | None, sizes: tuple[int, int, int]) -> Tensor | None:
    if mask is None:
        return None
    if mask.shape != (sizes[0], sizes[2]):
        raise UnsupportedOption(
            f"a mask of padding must have shape (batch, keys) = {(sizes[0], sizes[2])}, got "
            f"{tuple(mask.shape)}: {_NEXT_STEP}"
        )
    return mask.bool()


def _pairs(mask: Tensor) -> Tensor:
    """Return a complete mask as it is; one to be added hides where it is as low as numbers go."""
    if mask.dtype == torch.bool:
        return mask
    if not mask.is_floating_point():
        raise UnsupportedOption(
            f"a mask with 4 axes must be boolean or floating-point, got {mask.dtype}: cast it."
        )
    return mask.masked_fill(mask <= torch.finfo(mask.dtype).min, -torch.inf)


def _packed(reads: Reads, ends: Int[Tensor, "s"]) -> Reads:
    """Return the same where documents that end so never meet."""
    batch, n, m = reads.sizes
    if batch != 1 or n != m:
        raise UnsupportedOption(
            f"cu_seq_lens_q packs one sequence without a cache, got {batch} sequences of {n} "
            f"queries and {m} keys: flatten the batch and pass use_cache=False."
        )
    if unknown(ends) is None:
        _check_ends(ends, n)
    token = torch.arange(n, device=ends.device)
    segments = torch.bucketize(token, ends[1:], right=True)[None]
    if reads.segments is not None:
        segments = segments + (n + 1) * reads.segments
    return Reads(
        reads.sizes,
        reads.rule,
        key_mask=reads.key_mask,
        segments=segments,
        dense=reads.dense,
        first=reads.first,
        held=reads.held,
    )


def _check_ends(ends: Int[Tensor, "s"], n: int) -> None:
    counts_up = bool((ends.diff() >= 0).all())
    if ends.ndim != 1 or len(ends) < 2 or not counts_up or (int(ends[0]), int(ends[-1])) != (0, n):
        raise UnsupportedOption(
            f"cu_seq_lens_q must count up from 0 to the {n} tokens, got {ends.tolist()}: give the "
            "end of every document, padding included."
        )


def _check_positions(reads: Reads, position_ids: Tensor) -> None:
    """Refuse positions that begin anew where no mask keeps the documents apart."""
    if reads.segments is not None or unknown(position_ids) is not None:
        return
    if position_ids.ndim != 2 or position_ids.shape[1] != reads.sizes[1] or reads.sizes[1] < 2:
        return
    again = position_ids.diff(dim=1) <= 0
    if reads.key_mask is not None:  # what padding is numbered as is of no matter
        real = reads.key_mask[:, reads.sizes[2] - reads.sizes[1] :]
        again = again & (real[:, 1:] & real[:, :-1])
    if reads.dense is not None:  # written out, so it shows whether the token before is read
        _, n, m = reads.sizes
        row = torch.arange(1, n, device=position_ids.device)
        again = again & reads.mask()[:, 0, row, row + (m - n - 1)]
    if bool(again.any()):
        raise UnsupportedOption(
            "position_ids begin anew at token "
            f"{int(again.any(0).nonzero()[0]) + 1}, so documents are packed, but the mask of the "
            "model does not keep them apart: pass use_cache=False and no attention_mask; where "
            "that is not enough, cu_seq_lens_q and cu_seq_lens_k, too."
        )
