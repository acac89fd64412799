"""Strided attention: a query reads the last `stride` keys, and one key in `stride` before them.

    pairs(n, n) = n s - s (s - 1) / 2 + n (n - s) / (2 s),  s = stride, if s divides n
    time  O(n (s + n / s) d), least with a stride near the square root of n

Use it when data repeat with a known period: rows of an image, bars of music.
Not for text, which has no period: `fixed` was made for it.
Every token reaches every later one within two layers, but with a stride that does not grow with n
the cost is still quadratic.
"""

from dataclasses import dataclass
from itertools import zip_longest
from typing import ClassVar, final

from jaxtyping import Bool, Int
from torch import Tensor

from attncost.core.counts import Count, below, descending
from attncost.core.errors import ShapeError
from attncost.patterns.interface import Part, Pattern, Span, Tile, band


@final
@dataclass(frozen=True, slots=True)
class Strided(Pattern):
    """A causal window, and behind it the keys whose distance is a multiple of its width.

    Attributes:
        stride: Width of the window, and distance between the keys behind it.
    """

    source: ClassVar[str] = "Child et al. 2019, arXiv:1904.10509"

    stride: int = 128

    def __post_init__(self) -> None:
        if self.stride < 1:
            raise ShapeError(f"stride must be at least 1 (every key), got {self.stride}.")

    @classmethod
    def examples(cls) -> tuple["Strided", ...]:
        """Return strides from every key to more than there are."""
        return cls(1), cls(7), cls(16), cls(1000)

    @property
    def relative(self) -> bool:
        """Ask for the distance alone."""
        return True

    def allowed(self, query: Int[Tensor, "*#s"], key: Int[Tensor, "*#s"]) -> Bool[Tensor, "*#s"]:
        """Let a query read its window and the multiples of `stride` behind."""
        return self._near(query, key) | self._far(query, key)

    def pairs(self, n: Count, m: Count) -> Count:
        """Return the window, and for each distance behind it the queries that have it."""
        step = self.stride
        window = below(n, m, 1) - below(n, m, 1 - step)
        return window + descending(m - step, step) - descending(m - n - step, step)

    def parts(self, n: int, m: int, block: int) -> tuple[Part, ...]:
        """Return the window, and what is behind it as a triangle for each residue of positions."""
        near = band(n, m, block, before=self.stride - 1, ahead=0)
        residues = []
        start = max(m - n, self.stride)  # No query before it has a key so far behind.
        for first in range(start, min(m, start + self.stride)):
            queries, keys = range(first, m, self.stride), range(first % self.stride, m, self.stride)
            residues.append(_triangle(queries, keys, block))
        # Tiles of neighbouring residues have one shape, so they stand next to each other.
        far = tuple(tile for row in zip_longest(*residues) for tile in row if tile)
        return Part(near, self._near, True), Part(far, self._far, True)

    def _near(self, query: Tensor, key: Tensor) -> Tensor:
        return (key <= query) & (query < key + self.stride)

    def _far(self, query: Tensor, key: Tensor) -> Tensor:
        past = query - key
        return (past >= self.stride) & (past % self.stride == 0)


def _triangle(queries: range, keys: range, block: int) -> list[Tile]:
    """Return the tiles in which each query reads all keys before it; the last stand together."""
    tiles, shift = [], len(queries) - len(keys)
    for at, spans in band(len(queries), len(keys), block, before=len(keys), ahead=-1):
        held = tuple(Span(keys[span.start : span.stop], full) for span, full in spans)
        tiles.append(Tile(queries[at.start + shift : at.stop + shift], held))
    return tiles
