"""Tell from a dense mask what it says in a few words: a band of positions, padding, documents.

    read(i, j)  =  pattern(i + m - n, j)  and  key_mask(j)  and  segment(i) = segment(j)

Models write such masks out, n x m; what is read so costs O(m) to keep. Time O(n m), a block of rows
at a time. A mask that is anything else, such as one of blocks, is said to be so.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, final

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window

_PAIRS_AT_ONCE: Final = 1 << 20


@final
@dataclass(frozen=True, slots=True, eq=False)
class Band:
    """What a dense mask says.

    Attributes:
        pattern: By position, the last query standing at the last key.
        key_mask: Which keys may be read.
        segments: A number for each token; None if that says nothing.
    """

    pattern: Pattern
    key_mask: Bool[Tensor, "b m"]
    segments: Int[Tensor, "b n"] | None = None


class _Found(NamedTuple):
    """Which keys are read at all, how far before and after itself a query reads, and new texts."""

    read: Tensor
    before: int
    ahead: int
    begins: Tensor | None


def band(mask: Bool[Tensor, "b n m"]) -> Band | None:
    """Return what a mask says, in the plainest pattern; None if it is no band.

    >>> band(torch.ones(1, 3, 3, dtype=torch.bool).tril()).pattern
    Causal()
    """
    found = _found(mask)
    n, m = mask.shape[1:]
    tried: list[Pattern] = [Full()]
    if found.ahead <= 0:
        tried.append(Causal())
    before, ahead = max(0, found.before), max(0, found.ahead)
    tried.append(Window(before + 1 + ahead, ahead=ahead))
    segments = None if found.begins is None else found.begins.cumsum(1)
    for numbers in (None, segments):
        for pattern in tried if numbers is None or n == m else []:
            if _says(mask, Band(pattern, found.read, numbers)):
                return Band(pattern, found.read, numbers)
    return None


def _found(mask: Tensor) -> _Found:
    b, n, m = mask.shape
    device = mask.device
    read = torch.zeros(b, m, dtype=torch.bool, device=device)
    key = torch.arange(m, dtype=torch.int32, device=device)
    before = ahead = -m
    before_it, after_it = [], []
    for rows, block in _blocks(mask):
        read |= block.any(1)
        at = torch.arange(rows.start, rows.stop, device=device) + (m - n)
        some = block.any(2)
        first = torch.where(block, key, m).amin(2)
        last = torch.where(block, key, -1).amax(2)
        before = max(before, int(torch.where(some, at - first, -m).max()))
        ahead = max(ahead, int(torch.where(some, last - at, -m).max()))
        if n == m:
            before_it.append(_read_at(block, at - 1))
            after_it.append(_read_at(block, at + 1))
    if n != m:
        return _Found(read, before, ahead, None)
    # A text goes on where a token reads the one before it or is read by that.
    joined = torch.cat(before_it, 1)
    joined[:, 1:] |= torch.cat(after_it, 1)[:, :-1]
    return _Found(read, before, ahead, ~joined)


def _read_at(block: Tensor, keys: Tensor) -> Bool[Tensor, "b r"]:
    """Say of each row whether it reads its key."""
    b, r, m = block.shape
    return block.gather(2, keys.clamp(0, m - 1).expand(b, r)[..., None])[..., 0]


def _says(mask: Tensor, said: Band) -> bool:
    """Say whether a mask is exactly this."""
    n, m = mask.shape[1:]
    key = torch.arange(m, device=mask.device)
    for rows, block in _blocks(mask):
        at = torch.arange(rows.start, rows.stop, device=mask.device) + (m - n)
        expected = said.pattern.allowed(at[:, None], key) & said.key_mask[:, None]
        if said.segments is not None:
            own = said.segments[:, rows.start : rows.stop, None]
            expected = expected & (own == said.segments[:, None])
        if not torch.equal(block, expected.expand(block.shape)):
            return False
    return True


def _blocks(mask: Tensor) -> Iterator[tuple[range, Tensor]]:
    b, n, m = mask.shape
    step = max(1, _PAIRS_AT_ONCE // max(1, b * m))
    for start in range(0, n, step):
        rows = range(start, min(n, start + step))
        yield rows, mask[:, rows.start : rows.stop]
