"""Algebra: patterns made of others, as in `(Window(256) | first) & Causal()` and `~Causal()`.

    pairs(~a) = n m - pairs(a)        pairs(a | b) = pairs(a) + pairs(b) - pairs(a & b)
    time  O(what is read by a, plus by b), for a & b O(the lesser of the two), for ~a O(n m d)

Use it when what you want is two patterns at once, or one of them made causal. Not for a pattern
that has a file of its own, as that knows its full spans. The pairs of `a & b` have no closed form:
they are counted, by distance if both look at nothing else, else within the tiles of one of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final, final

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attncost.core.counts import Count, counted
from attncost.patterns.interface import Part, Pattern, Span, Tile, cut

_BLOCK: Final = 128
_PAIRS_AT_ONCE: Final = 1 << 22


def intersection(a: Pattern, b: Pattern) -> Pattern:
    """Return the pattern of the pairs that both read."""
    return _And(a, b)


def union(a: Pattern, b: Pattern) -> Pattern:
    """Return the pattern of the pairs that at least one reads."""
    return _Or(a, b)


def complement(a: Pattern) -> Pattern:
    """Return the pattern of the pairs that `a` does not read."""
    return _Not(a)


@final
@dataclass(frozen=True, slots=True, repr=False)
class _And(Pattern):
    """What both read."""

    source: ClassVar[str] = "Boole 1854, The Laws of Thought"

    a: Pattern
    b: Pattern

    @classmethod
    def examples(cls) -> tuple["_And", ...]:
        """Return none: there is nothing here to make them of."""
        return ()

    @property
    def relative(self) -> bool:
        """Ask for the distance alone if both do."""
        return self.a.relative and self.b.relative

    def allowed(self, query: Int[Tensor, "*#s"], key: Int[Tensor, "*#s"]) -> Bool[Tensor, "*#s"]:
        """Ask both."""
        return self.a.allowed(query, key) & self.b.allowed(query, key)

    def pairs(self, n: Count, m: Count) -> Count:
        """Count them: how two patterns overlap has no closed form."""
        return counted(_Overlap(self), n, m)

    def parts(self, n: int, m: int, block: int) -> tuple[Part, ...]:
        """Return the tiles of the one that has less in them, narrowed by the other."""
        either = [
            (one.parts(n, m, block), other) for one, other in ((self.a, self.b), (self.b, self.a))
        ]
        parts, other = min(either, key=lambda choice: _held(choice[0]))
        return tuple(_narrowed(part, other) for part in parts)

    def __repr__(self) -> str:
        return f"{_operand(self.a)} & {_operand(self.b)}"


@final
@dataclass(frozen=True, slots=True, repr=False)
class _Or(Pattern):
    """What either reads."""

    source: ClassVar[str] = _And.source

    a: Pattern
    b: Pattern

    @classmethod
    def examples(cls) -> tuple["_Or", ...]:
        """Return none: there is nothing here to make them of."""
        return ()

    @property
    def relative(self) -> bool:
        """Ask for the distance alone if both do."""
        return self.a.relative and self.b.relative

    def allowed(self, query: Int[Tensor, "*#s"], key: Int[Tensor, "*#s"]) -> Bool[Tensor, "*#s"]:
        """Ask both."""
        return self.a.allowed(query, key) | self.b.allowed(query, key)

    def pairs(self, n: Count, m: Count) -> Count:
        """Return the pairs of both, less those that were counted twice."""
        return self.a.pairs(n, m) + self.b.pairs(n, m) - _And(self.a, self.b).pairs(n, m)

    def parts(self, n: int, m: int, block: int) -> tuple[Part, ...]:
        """Return the parts of one, and those of the other without what the first one reads."""
        # What is taken away is settled span by span if it looks at the distance alone.
        first, second = sorted((self.a, self.b), key=lambda one: not one.relative)
        rest = _Not(first)
        return first.parts(n, m, block) + tuple(
            _narrowed(part, rest) for part in second.parts(n, m, block)
        )

    def __repr__(self) -> str:
        return f"{_operand(self.a)} | {_operand(self.b)}"


@final
@dataclass(frozen=True, slots=True, repr=False)
class _Not(Pattern):
    """What it does not read."""

    source: ClassVar[str] = _And.source

    a: Pattern

    @classmethod
    def examples(cls) -> tuple["_Not", ...]:
        """Return none: there is nothing here to make them of."""
        return ()

    @property
    def relative(self) -> bool:
        """Ask for the distance alone if it does."""
        return self.a.relative

    def allowed(self, query: Int[Tensor, "*#s"], key: Int[Tensor, "*#s"]) -> Bool[Tensor, "*#s"]:
        """Ask it, and do the opposite."""
        return ~self.a.allowed(query, key)

    def pairs(self, n: Count, m: Count) -> Count:
        """Return all pairs but those."""
        return n * m - self.a.pairs(n, m)

    def parts(self, n: int, m: int, block: int) -> tuple[Part, ...]:
        """Return all keys, narrowed by what it does not read."""
        tiles = (Tile(rows, (Span(range(m), True),)) for rows in cut(range(m - n, m), block) if m)
        return (_narrowed(Part(tuple(tiles), _everything, True), self),)

    def __repr__(self) -> str:
        return f"~{_operand(self.a)}"


def _everything(query: Tensor, key: Tensor) -> Tensor:
    return torch.ones_like(query + key, dtype=torch.bool)


def _operand(pattern: Pattern) -> str:
    return f"({pattern})" if isinstance(pattern, (_And, _Or)) else str(pattern)


def _held(parts: tuple[Part, ...]) -> int:
    """Return how many pairs lie in the tiles, read or not."""
    tiles = (tile for part in parts for tile in part.tiles)
    return sum(len(tile.queries) * sum(len(span.keys) for span in tile.spans) for tile in tiles)


def _narrowed(part: Part, other: Pattern) -> Part:
    """Return the pairs of a part that another pattern reads too."""

    def both(query: Tensor, key: Tensor) -> Tensor:
        return part.allowed(query, key) & other.allowed(query, key)

    settled = (Tile(rows, tuple(_settled(rows, spans, other))) for rows, spans in part.tiles)
    return Part(
        tuple(tile for tile in settled if tile.spans), both, part.relative and other.relative
    )


def _settled(queries: range, spans: tuple[Span, ...], other: Pattern) -> Iterator[Span]:
    """Drop the spans of which the other reads nothing, and keep full those that it reads whole.

    Looking at a pair costs as much as reading it, so only a relative pattern is asked: there are
    far fewer distances than pairs.
    """
    for keys, full in spans:
        if not other.relative:
            yield Span(keys, False)
            continue
        nearest, farthest = keys[0] - queries[-1], keys[-1] - queries[0]
        read = _at_distances(other, nearest, farthest)
        if read.any():
            yield Span(keys, full and bool(read.all()))


def _at_distances(pattern: Pattern, nearest: int, farthest: int) -> Tensor:
    """Say at which distances of key and query a relative pattern reads."""
    distance = torch.arange(nearest, farthest + 1, device="cpu")
    return pattern.allowed(torch.zeros_like(distance), distance)


@final
@dataclass(frozen=True, slots=True)
class _Overlap:
    """The pairs that two patterns share, for `counted`."""

    pattern: _And

    def count(self, n: int, m: int) -> int:
        return self._by_distance(n, m) if self.pattern.relative else self._in_tiles(n, m)

    def _by_distance(self, n: int, m: int) -> int:
        if not n * m:
            return 0
        distance = torch.arange(1 - m, n, device="cpu")
        # A key at this distance exists for the queries between these two positions.
        first, last = (-distance).clamp(min=m - n), (m - 1 - distance).clamp(max=m - 1)
        return int((last - first + 1)[_at_distances(self.pattern, 1 - m, n - 1)].sum())

    def _in_tiles(self, n: int, m: int) -> int:
        total = 0
        for part in self.pattern.parts(n, m, _BLOCK):
            for queries, spans in part.tiles:
                for keys, full in spans:
                    total += len(queries) * len(keys) if full else _looked(part, queries, keys)
        return total

    def __str__(self) -> str:
        return str(self.pattern)


def _looked(part: Part, queries: range, keys: range) -> int:
    """Count the pairs of a span one by one, a few rows at a time."""
    columns, total = torch.tensor(keys, device="cpu"), 0
    for rows in cut(queries, max(1, _PAIRS_AT_ONCE // len(keys))):
        inside = part.allowed(torch.tensor(rows, device="cpu")[:, None], columns)
        total += int(inside.expand(len(rows), len(keys)).sum())
    return total
