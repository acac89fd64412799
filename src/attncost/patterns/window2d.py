"""Local attention over an image: a patch reads the square of patches around it.

    pairs(n, n) = (rows k - r (r + 1)) (columns k - r (r + 1)),  r = reach, k = 2 r + 1,
                  if the image has n = rows columns patches, more than r either way
    time  O(n k² d)

Use it when tokens are patches of an image or cells of a grid, and nearness in both directions
counts.
Not for text, nor for patches that are not in raster order; a class token in front shifts them all.
At the edge of the image the square is cut off, as in Ramachandran et al.; the neighborhood
attention of Hassani et al. 2023, arXiv:2204.07143, moves it inwards, so that it holds k² patches.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final, final

from jaxtyping import Bool, Int
from torch import Tensor

from attncost.core.counts import Count, ceil_div, counted, triangle
from attncost.core.errors import ShapeError
from attncost.patterns.interface import Part, Pattern, Span, Tile, cut

_LEAST: Final = 16  # Queries that make a matrix product worth its call.


@final
@dataclass(frozen=True, slots=True)
class Window2d(Pattern):
    """A square window over patches in raster order, row by row.

    Attributes:
        columns: Patches in a row of the image; the last row may be incomplete.
        reach: Rows and columns that a patch looks each way; 0 reads only itself.
    """

    source: ClassVar[str] = "Ramachandran et al. 2019, arXiv:1906.05909"

    columns: int = 14
    reach: int = 3

    def __post_init__(self) -> None:
        if self.columns < 1:
            raise ShapeError(f"columns must be at least 1, got {self.columns}.")
        if self.reach < 0:
            raise ShapeError(
                f"reach must be at least 0 (a patch may always read itself), got {self.reach}."
            )

    @classmethod
    def examples(cls) -> tuple["Window2d", ...]:
        """Return images from one column to one row, and reach from nothing to everything."""
        return cls(14, 3), cls(1, 2), cls(5, 0), cls(3, 4), cls(90, 2), cls(1000, 7)

    @property
    def relative(self) -> bool:
        """Depend on where rows begin."""
        return False

    def allowed(self, query: Int[Tensor, "*#s"], key: Int[Tensor, "*#s"]) -> Bool[Tensor, "*#s"]:
        """Let a patch read what is at most `reach` rows and `reach` columns away."""
        rows = query // self.columns - key // self.columns
        columns = query % self.columns - key % self.columns
        return (rows.abs() <= self.reach) & (columns.abs() <= self.reach)

    def pairs(self, n: Count, m: Count) -> Count:
        """Return rows times columns; in symbols as one node, for incomplete rows fill a page."""
        return counted(_Squares(self), n, m)

    def parts(self, n: int, m: int, block: int) -> tuple[Part, ...]:
        """Return whole rows of a narrow image, and the rows that they reach as one span.

        A row of a wide image is cut, and each piece reads a span in each row that it reaches.
        """
        start = max(m - n, -self.columns * self.reach)
        piece = min(block, max(_LEAST, 2 * self.reach + 1))
        narrow = self.columns <= min(block, 2 * piece)
        tiles = self._rows(start, m, block) if narrow else self._pieces(start, m, piece)
        return (Part(tuple(tile for tile in tiles if tile.spans), self.allowed, False),)

    def _rows(self, start: int, stop: int, block: int) -> Iterator[Tile]:
        width, reach = self.columns, self.reach
        # More rows at once read less in common: as many as the reach make half again of the work.
        size = width * min(block // width, max(reach, ceil_div(_LEAST, width)))
        for first in range(start // size * size, stop, size):
            for queries in cut(range(max(first, start), min(first + size, stop)), size):
                top = (queries[0] // width - reach) * width
                bottom = (queries[-1] // width + reach + 1) * width
                keys = range(max(0, top), min(bottom, stop))
                yield Tile(queries, (Span(keys, False),) if keys else ())

    def _pieces(self, start: int, stop: int, piece: int) -> Iterator[Tile]:
        width, reach = self.columns, self.reach
        even = ceil_div(width, ceil_div(width, piece))
        # Pieces that stand below one another have one shape, so they follow one another.
        for left in range(0, width, even):
            for row in range(start // width, ceil_div(stop, width)):
                first, last = row * width + left, row * width + min(left + even, width)
                columns = range(max(0, left - reach), min(width, left + even + reach))
                keys = (
                    range(at * width + columns.start, min(at * width + columns.stop, stop))
                    for at in range(max(0, row - reach), row + reach + 1)
                )
                spans = tuple(Span(read, False) for read in keys if read)
                for queries in cut(range(max(first, start), min(last, stop)), even):
                    yield Tile(queries, spans)


@final
@dataclass(frozen=True, slots=True)
class _Squares:
    """The pairs of an image by rows and columns instead of one by one, for `counted`."""

    linear: ClassVar[bool] = True

    pattern: Window2d

    def __str__(self) -> str:
        return str(self.pattern)

    def count(self, n: int, m: int) -> int:
        above = self.pattern.columns * self.pattern.reach
        # Queries before the first key stand in rows above the image and may reach down into it.
        first, outside = max(0, m - n), max(0, above - max(0, n - m))
        keys, corner = above + m, self._corner
        reaching_down = corner(above, keys) - corner(outside, keys)
        reaching_up = corner(above, above) - corner(outside, above)
        return corner(m, m) - corner(first, m) + reaching_down - reaching_up

    def _corner(self, x: int, y: int) -> int:
        """Count the pairs of the first x queries and the first y keys: rows times columns.

        The incomplete row at the end of each is counted apart.
        """
        width, line, near = self.pattern.columns, self._line, self._near
        (a, u), (b, v) = divmod(x, width), divmod(y, width)
        both = line(a, b + 1) - line(a, b)  # 1 if these rows read each other, else 0.
        return (
            near(a, b) * near(width, width)
            + line(a, b) * near(u, width)
            + line(b, a) * near(width, v)
            + both * near(u, v)
        )

    def _near(self, a: int, b: int) -> int:
        """Count i < a and j < b that differ by no more than the reach."""
        return a * b - self._beyond(a, b) - self._beyond(b, a)

    def _beyond(self, a: int, b: int) -> int:
        """Count i < a and j < b of which i is greater by more than the reach."""
        past = a - self.pattern.reach - 1
        pairs: int = triangle(max(0, past)) - triangle(max(0, past - b))
        return pairs

    def _line(self, i: int, b: int) -> int:
        """Count j < b that differ from i by no more than the reach."""
        reach = self.pattern.reach
        return max(0, min(b, i + reach + 1) - max(0, i - reach))
