"""Fixed attention: a query reads its own block so far, and the last keys of every earlier block.

    pairs(n, n) = n (s + 1) / 2 + summary n (n - s) / (2 s),  s = stride, if s divides n
    time  O(n (s + summary n / s) d), least with a stride near the square root of summary n

Use it when text is long and any token may matter later: the last keys of a block can sum it up.
Not when the last few tokens must always be read: right after the border of a block there are none.
The summary keys must learn to summarise, so a model trained with full attention loses much.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final, final

from jaxtyping import Bool, Int
from torch import Tensor

from attncost.core.counts import Count, ceil_div, larger, triangle
from attncost.core.errors import ShapeError
from attncost.patterns.interface import Part, Pattern, Span, Tile, cut

_SMALL: Final = 32  # Smaller blocks share a tile, for a product that is worth its call.


@final
@dataclass(frozen=True, slots=True)
class Fixed(Pattern):
    """Causal blocks, and summaries of the blocks before.

    Attributes:
        stride: Tokens of a block.
        summary: The last keys of a block, which all later blocks read.
    """

    source: ClassVar[str] = "Child et al. 2019, arXiv:1904.10509"

    stride: int = 128
    summary: int = 8

    def __post_init__(self) -> None:
        if self.stride < 1:
            raise ShapeError(f"stride must be at least 1 (a block of one), got {self.stride}.")
        if not 1 <= self.summary <= self.stride:
            raise ShapeError(
                f"summary must lie between 1 and stride = {self.stride}, got {self.summary}."
            )

    @classmethod
    def examples(cls) -> tuple["Fixed", ...]:
        """Return small and large blocks, one summary key and nothing but summary keys."""
        return cls(16, 3), cls(1, 1), cls(7, 1), cls(50, 1), cls(40, 40), cls(1000, 8)

    @property
    def relative(self) -> bool:
        """Depend on where blocks begin."""
        return False

    def allowed(self, query: Int[Tensor, "*#s"], key: Int[Tensor, "*#s"]) -> Bool[Tensor, "*#s"]:
        """Let a query read what is in its block or a summary, and not after itself."""
        same_block = query // self.stride == key // self.stride
        return (key <= query) & (same_block | self._sums_up(key))

    def pairs(self, n: Count, m: Count) -> Count:
        """Return what the queries up to the last read, less what those before the first would."""
        return self._read_before(m) - self._read_before(larger(0, m - n))

    def _read_before(self, end: Count) -> Count:
        blocks = ceil_div(end, self.stride) - 1  # The last, complete or not, is the rest.
        rest = end - self.stride * blocks
        inside = blocks * triangle(self.stride) + triangle(rest)
        return inside + self.summary * (self.stride * triangle(blocks - 1) + blocks * rest)

    def parts(self, n: int, m: int, block: int) -> tuple[Part, ...]:
        """Return triangles along the diagonal, and the summaries of the blocks before."""
        queries = tuple(self._queries(max(0, m - n), m, block))
        alone = self.stride > min(block, _SMALL) // 2  # Each tile lies within one block.
        own = tuple(Tile(tile, self._own(tile, alone)) for tile in queries)
        blocks = [range(first, first + self.stride) for first in range(0, m, self.stride)]
        summaries = tuple(Span(keys[-self.summary :], True) for keys in blocks)
        earlier = (Tile(tile, self._earlier(tile, summaries)) for tile in queries)
        return (
            Part(own, _causal if alone else self._in_block, alone),
            Part(tuple(tile for tile in earlier if tile.spans), self._in_summary, False),
        )

    def _queries(self, start: int, stop: int, block: int) -> Iterator[range]:
        """Cut at the borders of blocks: several in a tile, or one in tiles of equal size."""
        size = self.stride * max(1, min(block, _SMALL) // self.stride)
        even = ceil_div(size, ceil_div(size, block))
        for first in range(start // size * size, stop, size):
            yield from cut(range(max(first, start), min(first + size, stop)), even)

    def _own(self, queries: range, alone: bool) -> tuple[Span, ...]:
        border = queries[0] // self.stride * self.stride
        # What comes before the tile in its block is read by all of it.
        cuts = [border, queries.start if alone else border, queries.stop]
        keys = zip(cuts, cuts[1:], (True, False), strict=False)
        return tuple(Span(range(a, b), full) for a, b, full in keys if a < b)

    def _earlier(self, queries: range, summaries: tuple[Span, ...]) -> tuple[Span, ...]:
        first, last = queries[0] // self.stride, queries[-1] // self.stride
        if self.summary > 1:
            between = (Span(keys, False) for keys, _ in summaries[first:last])
            return summaries[:first] + tuple(between)
        # One key a block is one progression, which needs no gathering.
        keys = range(self.stride - 1, last * self.stride, self.stride)
        spans = Span(keys[:first], True), Span(keys[first:], False)
        return tuple(span for span in spans if span.keys)

    def _sums_up(self, key: Tensor) -> Tensor:
        return key % self.stride >= self.stride - self.summary

    def _in_block(self, query: Tensor, key: Tensor) -> Tensor:
        return (query // self.stride == key // self.stride) & (key <= query)

    def _in_summary(self, query: Tensor, key: Tensor) -> Tensor:
        return (key // self.stride < query // self.stride) & self._sums_up(key)


def _causal(query: Tensor, key: Tensor) -> Tensor:
    return key <= query
