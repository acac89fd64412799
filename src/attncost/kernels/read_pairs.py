"""Exactly how many pairs a call reads: what the pattern, the masks and a bias of -inf leave.

    pairs = sum over sequences, heads, queries and keys of
            allowed(query, key) and key_mask(key) and same segment and bias > -inf

    time    O(n + m + b m) for a mask of keys, O(documents) for packed ones under a pattern that
            looks at distances alone, else O(b pairs in tiles that are not full)
    memory  O(b (n + m)), never n x m

What cannot be looked at, in meta and fake tensors and while a call is compiled, hides nothing here:
then the pairs are an upper bound, and the options that it is due to are named.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from attncost.core.options import Options
from attncost.core.unseen import unseen
from attncost.kernels.documents import documents, scattered
from attncost.kernels.interface import Call
from attncost.kernels.readers import BLOCK, PAIRS_AT_ONCE, readers
from attncost.patterns.interface import Pattern, Rule, cut

_HIDING = ("key_mask", "segments", "bias")


@final
@dataclass(frozen=True, slots=True)
class Read:
    """What a call reads.

    Attributes:
        pairs: Pairs of a query and a key, over all sequences and query heads.
        unseen: Options that may hide some of them, whose values cannot be looked at.
    """

    pairs: int
    unseen: tuple[str, ...] = ()

    @property
    def unknown(self) -> str | None:
        """Why there may be fewer pairs, in words; None if they are exact."""
        return f"what {' and '.join(self.unseen)} may hide is not known." if self.unseen else None


def read_pairs(call: Call) -> Read:
    """Count the pairs that a call reads, without looking at each if that can be helped."""
    dims, options = call.dims, call.options
    if 0 in (dims.batch, dims.length, dims.kv_length):
        return Read(0)
    found = {name: getattr(options, name) for name in _HIDING}
    given = {name: x for name, x in found.items() if x is not None}
    hidden = tuple(name for name, x in given.items() if unseen(x))
    # Whoever counts operations, or makes them fake, shall not meet ours.
    with _disable_current_modes():
        seen = {name: x.detach() for name, x in given.items() if name not in hidden}
        sizes = (dims.batch, dims.heads, dims.length, dims.kv_length)
        return Read(_counted(call.pattern, _Hiding(Options(**seen), sizes)), hidden)


@final
@dataclass(frozen=True)
class _Hiding:
    """What hides pairs beside the pattern; axes of 1 serve all sequences or heads.

    Attributes:
        options: Those that can be looked at.
        sizes: Sequences, heads, queries and keys.
    """

    options: Options
    sizes: tuple[int, int, int, int]

    @cached_property
    def keys(self) -> Bool[Tensor, "_ _ m"] | None:
        """Which keys may be read by whatever query."""
        bias, found = self.options.bias, None
        if self.options.key_mask is not None:
            found = self.options.key_mask.cpu()[:, None]
        if bias is not None and bias.shape[2] == 1:
            open_ = ~bias[:, :, 0].isneginf().cpu()
            found = open_ if found is None else found & open_
        return None if found is None else found.expand(-1, -1, self.sizes[3])

    @cached_property
    def bias(self) -> Float[Tensor, "_ _ n _"] | None:
        """The bias, if it hides some pairs of a query and no others."""
        bias = self.options.bias
        if bias is None or bias.shape[2] == 1:
            return None
        rows = max(1, PAIRS_AT_ONCE // (bias.numel() // bias.shape[2]))
        return bias if any(some.isneginf().any() for some in bias.split(rows, 2)) else None

    @cached_property
    def segments(self) -> tuple[Int[Tensor, "b n"], Int[Tensor, "b m"]] | None:
        """The documents of queries and of keys, numbered from 0."""
        if self.options.segments is None:
            return None
        (_, _, n, m), numbers = self.sizes, self.options.segments.cpu()
        _, numbers = numbers.unique(return_inverse=True)
        return numbers[:, len(numbers[0]) - n :], numbers[:, len(numbers[0]) - m :]

    def times(self, counts: Int[Tensor, "b h"]) -> int:
        """Sum up what was counted; what serves all sequences or heads counts for each."""
        return (
            int(counts.sum()) * (self.sizes[0] // len(counts)) * (self.sizes[1] // counts.shape[1])
        )


def _counted(pattern: Pattern, hiding: _Hiding) -> int:
    b, h, n, m = hiding.sizes
    segments = hiding.options.segments
    if hiding.bias is not None:
        return _in_tiles(pattern, hiding)
    if segments is not None:
        apart = pattern.relative and scattered(segments) is None
        return _in_documents(pattern, hiding) if apart else _in_tiles(pattern, hiding)
    if hiding.keys is not None:
        return hiding.times(hiding.keys.long() @ readers(pattern, n, m))
    return b * h * int(pattern.pairs(n, m))


def _in_documents(pattern: Pattern, hiding: _Hiding) -> int:
    """Take documents as if each were alone: the last query of each is its last key."""
    (_, h, n, m), keys, segments = hiding.sizes, hiding.keys, hiding.options.segments
    assert segments is not None, "there are documents"
    found = [one for inside in documents(segments, n, m) for one in inside]
    found = [one for one in found if one.queries and one.keys]
    if keys is None:
        alike = Counter((len(one.queries), len(one.keys)) for one in found)
        return h * sum(number * int(pattern.pairs(*size)) for size, number in alike.items())
    keys = keys.expand(hiding.sizes[0], -1, -1).long()
    total = 0
    for one in found:
        open_ = keys[one.sequence, :, one.keys.start : one.keys.stop]
        total += int((open_ @ readers(pattern, len(one.queries), len(one.keys))).sum())
    return total * (h // keys.shape[1])


def _in_tiles(pattern: Pattern, hiding: _Hiding) -> int:
    """Take the tiles of a pattern, one after the other."""
    _, _, n, m = hiding.sizes
    total = 0
    for part in pattern.parts(n, m, BLOCK):
        for queries, spans in part.tiles:
            for keys, full in spans:
                if full and hiding.bias is None:
                    total += _by_document(hiding, queries, keys)
                else:
                    total += _one_by_one(None if full else part.allowed, hiding, queries, keys)
    return total


def _by_document(hiding: _Hiding, queries: range, keys: range) -> int:
    """Count pairs of one document where nothing but documents and a mask of keys hides any."""
    assert hiding.segments is not None, "there are documents"
    (_, _, n, m), (mine, theirs) = hiding.sizes, hiding.segments
    mine, theirs = mine[:, _rows(queries, n, m)], theirs[:, None, _slice(keys)]
    documents_ = int(max(mine.max(), theirs.max())) + 1
    open_ = torch.ones_like(theirs) if hiding.keys is None else hiding.keys[..., _slice(keys)]
    shape = torch.broadcast_shapes(theirs.shape, open_.shape)
    of_keys = torch.zeros(*shape[:2], documents_, dtype=torch.long, device="cpu").scatter_add_(
        2, theirs.expand(shape), open_.expand(shape).long()
    )
    return hiding.times(of_keys.gather(2, mine[:, None].expand(*shape[:2], -1)).sum(2))


def _one_by_one(rule: Rule | None, hiding: _Hiding, queries: range, keys: range) -> int:
    """Look at every pair, a few rows at a time."""
    (b, h, n, m), total = hiding.sizes, 0
    columns = torch.tensor(keys, device="cpu")
    for rows in cut(queries, max(1, PAIRS_AT_ONCE // (b * h * len(keys)))):
        row = torch.tensor(rows, device="cpu")[:, None]
        if rule is None:
            reads = torch.ones(1, 1, len(rows), len(keys), dtype=torch.bool, device="cpu")
        else:
            reads = rule(row, columns).expand(1, 1, len(rows), len(keys))
        total += hiding.times(_left(reads, hiding, _rows(rows, n, m), _slice(keys)).sum((2, 3)))
    return total


def _left(
    reads: Bool[Tensor, "1 1 r s"], hiding: _Hiding, rows: slice, columns: slice
) -> Bool[Tensor, "_ _ r s"]:
    """Return what is left of what a pattern reads."""
    if hiding.keys is not None:
        reads = reads & hiding.keys[:, :, None, columns]
    if hiding.segments is not None:
        mine, theirs = hiding.segments
        reads = reads & (mine[:, None, rows, None] == theirs[:, None, None, columns])
    if hiding.bias is not None:
        bias = hiding.bias[:, :, rows]
        bias = bias if bias.shape[3] == 1 else bias[..., columns]
        reads = reads & ~bias.isneginf().cpu()
    return reads


def _slice(positions: range) -> slice:
    return slice(positions.start, positions.stop, positions.step)


def _rows(queries: range, n: int, m: int) -> slice:
    """Return the numbers of queries that stand at these positions."""
    return slice(queries.start - m + n, queries.stop - m + n, queries.step)
