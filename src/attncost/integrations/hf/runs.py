"""Patterns that count from the first token, where sequences do not begin at the first slot.

A block begins with its text, not with the padding before it and not with another
document. Such sequences are computed one after the other, each from its own beginning: exact, and
slower than one call for the whole batch. Windows look at distances alone and need none of this.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attncost.core.errors import UnsupportedOption
from attncost.core.options import Wishes
from attncost.integrations.hf.watch import watched
from attncost.kernels.attention import attention
from attncost.kernels.documents import documents, scattered
from attncost.patterns.interface import Pattern


def shifted(pattern: Pattern, wishes: Wishes, *, unread: bool) -> bool:
    """Say whether a pattern has to begin at other slots than the first.

    Args:
        pattern: What is read.
        wishes: Where the padding and the documents are.
        unread: Whether they are in a mask that the host wrote out.

    Raises:
        UnsupportedOption: If that cannot be known.
    """
    key_mask, segments = wishes.get("key_mask"), wishes.get("segments")
    if pattern.relative or (key_mask is None and segments is None and not unread):
        return False
    hidden = "a compiled call" if torch.compiler.is_compiling() else "a mask of this kind"
    if unread or torch.compiler.is_compiling():
        raise UnsupportedOption(
            f"{pattern} counts from the first token of a text, and {hidden} does not show where "
            "that is: pass a complete mask (4 axes), whose texts begin at the first slot, or do "
            "not compile."
        )
    if segments is not None and (why := scattered(segments)):
        raise UnsupportedOption(f"{pattern} counts from the first token of a text, but {why}")
    return segments is not None or bool(_first(key_mask).any())


def by_runs(
    module: nn.Module,
    q: Float[Tensor, "b h n d"],
    k: Float[Tensor, "b g m d"],
    v: Float[Tensor, "b g m e"],
    pattern: Pattern,
    wishes: Wishes,
) -> Float[Tensor, "b h n e"]:
    """Attend within each run of tokens from its own first one; all else is 0."""
    earlier = k.shape[2] - q.shape[2]
    out = q.new_zeros(*q.shape[:3], v.shape[3])
    for sequence, keys in _runs(wishes, q.shape[2], k.shape[2]):
        one = slice(sequence, sequence + 1)
        rows = slice(max(0, keys.start - earlier), max(0, keys.stop - earlier))
        columns = slice(keys.start, keys.stop)
        own = wishes.copy()
        own["segments"] = None
        if (key_mask := wishes.get("key_mask")) is not None:
            own["key_mask"] = key_mask[one, columns]
        if (bias := wishes.get("bias")) is not None:
            bias = bias.expand(len(q), -1, -1, -1)[one, :, :, columns]
            own["bias"] = bias if bias.shape[2] == 1 else bias[:, :, rows]
        part = q[one, :, rows], k[one, :, columns], v[one, :, columns]
        watched(module, part, pattern, own)
        out[one, :, rows] = attention(*part, pattern, **own)
    return out


def _runs(wishes: Wishes, n: int, m: int) -> Iterator[tuple[int, range]]:
    segments, key_mask = wishes.get("segments"), wishes.get("key_mask")
    if segments is not None:
        for found in documents(segments, n, m):
            yield from ((document.sequence, document.keys) for document in found)
    else:
        for sequence, first in enumerate(_first(key_mask).tolist()):
            yield sequence, range(first, m)


def _first(key_mask: Tensor | None) -> Tensor:
    """Return the first key of each sequence that may be read."""
    assert key_mask is not None
    return key_mask.int().argmax(1)
