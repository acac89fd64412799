"""Blocks of neighbouring queries, each with the keys that any of them may read.

The keys of a block are one stretch, from the first to the last that is read, so that they line up
by distance. A window costs O(n w); a pattern whose queries read far apart, such as one with global
tokens, costs O(n m), whatever it leaves out in between.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple, final

import numpy as np
import torch
from torch.utils._python_dispatch import _disable_current_modes

from attncost.patterns.interface import Pattern, Span, cut

# Scores that one block has for one head: 4 MiB of float32, so that they stay near the core.
AT_ONCE: Final = 1 << 20
# Scores that take as long as all that is done once for a block, however small.
_OVERHEAD: Final = 1 << 15
# Queries that are not cut further: fewer multiply slowly.
_FEWEST: Final = 64
# Stretches that are worth looking at one by one.
_MANY: Final = 32
_RULED, _FULL = 1, 2


@final
@dataclass(frozen=True, slots=True)
class Block:
    """Some queries and their keys, both by number.

    Attributes:
        queries: Which they are.
        keys: From the first key to the last that one of them may read.
        hidden: Stretches of keys that none of them reads.
        ruled: Stretches of keys of which the pattern's rule says which are read.
    """

    queries: range
    keys: range
    hidden: tuple[range, ...]
    ruled: tuple[range, ...]


@lru_cache(maxsize=64)
def blocks(pattern: Pattern, n: int, m: int) -> tuple[Block, ...]:
    """Return the blocks in order; those that read nothing are left out."""
    # Looking at a rule needs real numbers.
    with _disable_current_modes():
        return tuple(_block(some) for some in _joined(_strips(pattern, n, m)))


class _Strip(NamedTuple):
    """A few queries and what they read: spans of keys, full if all of them read all of it."""

    queries: range
    spans: list[Span]

    @property
    def start(self) -> int:
        return min(keys[0] for keys, _ in self.spans)

    @property
    def stop(self) -> int:
        return max(keys[-1] for keys, _ in self.spans) + 1


def _strips(pattern: Pattern, n: int, m: int) -> list[_Strip]:
    strips = [_Strip(queries, []) for queries in cut(range(n), _FEWEST)]
    tiles = [tile for part in pattern.parts(n, m, _FEWEST) for tile in part.tiles if tile.spans]
    if pattern.relative and any(len(tile.queries) > 1 < tile.queries.step for tile in tiles):
        return [one for one in _by_distance(pattern, strips, n, m) if one.spans]
    for queries, spans in tiles:
        numbers = range(queries.start + n - m, queries.stop + n - m, queries.step)
        for place in sorted({number // _FEWEST for number in numbers}):
            rows = strips[place].queries
            whole = numbers[0] <= rows[0] and rows[-1] <= numbers[-1] and numbers.step == 1
            strips[place].spans.extend(Span(keys, full and whole) for keys, full in spans)
    return [one for one in strips if one.spans]


def _joined(strips: list[_Strip]) -> Iterator[list[_Strip]]:
    """Join neighbours as long as that makes a query cheaper."""
    some: list[_Strip] = []
    for strip in strips:
        if some and not _pays(some, strip):
            yield some
            some = []
        some.append(strip)
    if some:
        yield some


def _pays(some: list[_Strip], strip: _Strip) -> bool:
    """Say whether a query is cheaper in a block that has one strip more."""
    if some[-1].queries.stop != strip.queries.start:
        return False
    rows, more = (end - some[0].queries.start for end in (strip.queries.start, strip.queries.stop))
    start, stop = min(one.start for one in some), max(one.stop for one in some)
    now, then = stop - start, max(stop, strip.stop) - min(start, strip.start)
    # Seen by distance, a block is as many keys wider as it has queries.
    return more * (then + more) <= AT_ONCE and then + _OVERHEAD / more <= now + _OVERHEAD / rows


def _by_distance(pattern: Pattern, strips: list[_Strip], n: int, m: int) -> list[_Strip]:
    """Return the keys between the nearest and the farthest distance that are read.

    Tiles of queries far apart would say too little about neighbours.
    """
    distance = torch.arange(1 - m, n, device="cpu")
    read = distance[pattern.allowed(torch.zeros_like(distance), distance)]
    if not len(read):
        return []
    first, last = int(read[0]) + m - n, int(read[-1]) + m - n
    found = []
    for queries, _ in strips:
        keys = range(max(0, queries[0] + first), min(m, queries[-1] + last + 1))
        found.append(_Strip(queries, [Span(keys, False)] if keys else []))
    return found


def _block(strips: list[_Strip]) -> Block:
    """Say of each key whether nobody reads it, all do, or the rule decides."""
    start, stop = min(one.start for one in strips), max(one.stop for one in strips)
    kinds = np.full(stop - start, _FULL, dtype=np.uint8)
    least = np.zeros_like(kinds)
    for _, spans in strips:
        own = np.zeros_like(kinds)
        for keys, full in spans:
            here = own[keys[0] - start : keys[-1] + 1 - start : keys.step]
            # Pairs of different tiles are disjoint, so what one reads whole no other reads.
            np.maximum(here, _FULL if full else _RULED, out=here)
        np.minimum(kinds, own, out=kinds)
        np.maximum(least, np.minimum(own, _RULED), out=least)
    np.maximum(kinds, least, out=kinds)
    stretches: dict[int, list[range]] = {0: [], _RULED: [], _FULL: []}
    ends = [0, *(np.flatnonzero(np.diff(kinds)) + 1).tolist(), len(kinds)]
    for one, other in pairwise(ends):
        stretches[int(kinds[one])].append(range(start + one, start + other))
    queries, keys = range(strips[0].queries.start, strips[-1].queries.stop), range(start, stop)
    if len(ends) > _MANY:
        return Block(queries, keys, (), (keys,))
    return Block(queries, keys, tuple(stretches[0]), tuple(stretches[_RULED]))
