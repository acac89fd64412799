"""How many pairs of queries and keys the masks of one call let through.

    pairs = sum over sequences and keys of (queries of all heads that read the key) * (key is read)

Only what a mask stores is looked at, piece by piece, and multiplied by what it stands for: a mask
of 8192 x 8192 booleans takes 0.04 s and 1 MiB, for any number of heads.

A number of -1e4 or less hides its pair: `exp` of it is exactly 0 in every type, float64 included,
unless scores differ by thousands, and models write -1e4, -1e9, the least number of the type or
-inf alike. A query for which every key is so low counts as reading nothing, though PyTorch, which
cannot tell, gives it a mean of all values; such rows are padding.
"""

from math import prod
from typing import Final, NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from attncost.core.counts import triangle
from attncost.core.unseen import unseen
from attncost.cost.counting.told import told

_HIDDEN: Final = -1e4
_AT_ONCE: Final = 1 << 20

Sizes = tuple[int, int, int, int]


class Read(NamedTuple):
    """Pairs that are read; at most so many if there is a reason why that is unknown."""

    pairs: int
    unknown: str | None = None


def pairs_read(
    sizes: Sizes,
    mask: Tensor | None = None,
    *,
    key_mask: Tensor | None = None,
    blocks: bool = False,
    causal: bool = False,
) -> Read:
    """Count the pairs that all masks of a call let through.

    Args:
        sizes: Sequences, query heads, queries and keys.
        mask: Booleans or numbers that broadcast to these sizes. Sequences may be several axes, or
            one with heads in it.
        key_mask: Booleans or numbers for every sequence and key.
        blocks: Whether True is hidden, as in `torch.nn.MultiheadAttention`, instead of read.
        causal: Whether query i reads keys 0 to i at most: PyTorch aligns the first with the first.

    >>> pairs_read((2, 8, 3, 3), causal=True).pairs
    96
    >>> pairs_read((2, 8, 3, 3), torch.tensor([[True, True, False]])).pairs
    96
    """
    unknown = None
    if mask is not None and (unknown := _unknown(mask)):
        entries = None if key_mask is not None or causal or not mask.numel() else told(mask)
        if entries is not None:
            return Read(entries * (prod(sizes) // mask.numel()))
        mask = None
    if key_mask is not None and (reason := _unknown(key_mask)):
        unknown, key_mask = unknown or reason, None
    if mask is None and key_mask is None:
        b, h, n, m = sizes
        return Read(b * h * (causal_pairs(n, m) if causal else n * m), unknown)
    if not prod(sizes):
        return Read(0, unknown)
    # Whoever counts operations, or makes them fake, shall not meet ours.
    with _disable_current_modes(), torch.no_grad():
        return Read(_looked_at(sizes, mask, key_mask, blocks=blocks, causal=causal), unknown)


def causal_pairs(n: int, m: int) -> int:
    """Return the pairs of n queries and m keys in which query i reads keys 0 to i.

    >>> causal_pairs(3, 5), causal_pairs(5, 3)
    (6, 12)
    """
    rising = min(n, m)
    return int(triangle(rising)) + (n - rising) * m


def _looked_at(
    sizes: Sizes, mask: Tensor | None, key_mask: Tensor | None, *, blocks: bool, causal: bool
) -> int:
    stored = torch.full((1, 1, 1, 1), not blocks) if mask is None else _stored(mask, sizes)
    if causal:
        stored = stored.expand(-1, -1, *sizes[2:])
    readers = _readers(stored, blocks=blocks, causal=causal)
    if key_mask is not None:
        readers = readers.to(key_mask.device) * _reads(_plain(key_mask), blocks=blocks)
    stands_for = prod(sizes) // (readers.numel() * stored.shape[1] * stored.shape[2])
    return int(readers.sum()) * stands_for


def _readers(mask: Tensor, *, blocks: bool, causal: bool) -> Int[Tensor, "b m"]:
    """Return how many of the queries and heads that a mask tells apart read each key."""
    b, h, n, m = mask.shape
    rows = max(1, _AT_ONCE // (b * h * m))
    readers = torch.zeros(b, m, dtype=torch.int64, device=mask.device)
    for first in range(0, n, rows):
        reads = _reads(mask[:, :, first : first + rows], blocks=blocks)
        if causal:
            reads = reads.tril(first)
        readers += reads.sum((1, 2), dtype=torch.int32)
    return readers


def hides(mask: Tensor, *, blocks: bool = False) -> Bool[Tensor, "..."]:
    """Return which pairs a mask hides; `blocks` if True hides in it, instead of letting through.

    >>> hides(torch.tensor([0.0, -1e9, -torch.inf])).tolist()
    [False, True, True]
    """
    if mask.is_floating_point():
        return mask <= _HIDDEN
    return mask.bool() if blocks else mask.logical_not()


def _reads(mask: Tensor, *, blocks: bool) -> Bool[Tensor, "..."]:
    return hides(mask, blocks=blocks).logical_not()


def _stored(mask: Tensor, sizes: Sizes) -> Tensor:
    """Return a mask of four axes without what it only repeats."""
    mask = _plain(mask)
    for axis, stride in enumerate(mask.stride()):
        if not stride:
            mask = mask.narrow(axis, 0, 1)
    if mask.dim() > 4:
        return mask.flatten(0, -4)
    if mask.dim() == 3 and mask.shape[0] == sizes[0] * sizes[1]:
        return mask.view(*sizes[:2], *mask.shape[1:])
    return mask[(None,) * (4 - mask.dim())]


def _plain(mask: Tensor) -> Tensor:
    return mask.detach().as_subclass(Tensor)


def _unknown(mask: Tensor) -> str | None:
    where = unseen(mask)
    return None if where is None else f"the values of a mask {where} are unknown"
