"""Two buffers for the weights of a piece, one of which can be read by distance.

Row r of a block stands one token further than row r - 1. So if each row has zeros on both sides,
the same memory seen with rows that are one number longer

    memory  . . a b c . . d e f . .        rows  a b c      by distance  . a b c
                                                 d e f                   d e f .

lines up all pairs of one distance in a column, without a copy: what belongs to distances is then
sums over columns.
"""

from typing import Final, NamedTuple, final

from jaxtyping import Float
from torch import Tensor

from attncost.view.statistics.blocks import AT_ONCE, Block

# Distances that are summed up before one looks closer.
BIN: Final = 64


class Reach(NamedTuple):
    """How the columns by distance lie: `before` bins of keys up to a query, `after` from it on.

    Both hold distance 0, which is column `zero`; to its left are the keys before the query.
    """

    before: int
    after: int

    @classmethod
    def of(cls, first: int, rows: int, keys: range) -> "Reach":
        """Return those of `rows` queries, the first of which stands at `first`."""
        before = max(first + rows - 1 - keys[0], 1)
        after = max(keys[-1] - first, 0)
        return cls(before // BIN + 1, after // BIN + 1)

    @property
    def zero(self) -> int:
        """The column of distance 0."""
        return self.before * BIN - 1

    @property
    def columns(self) -> int:
        """How many there are."""
        return (self.before + self.after) * BIN - 1


@final
class Buffers:
    """Memory for pieces of at most `lanes` heads, taken once."""

    __slots__ = ("_base", "_rows", "_scores", "_stride", "_weights", "_written", "lanes")

    def __init__(self, q: Float[Tensor, "lanes n d"], found: tuple[Block, ...], m: int) -> None:
        """Take memory for as many heads as go together, at least one.

        Args:
            q: The queries.
            found: Their blocks.
            m: Keys.
        """
        shift = m - q.shape[1]
        self._rows = max(len(block.queries) for block in found)
        widest = max(len(block.keys) for block in found)
        # Zeros for rows that begin before, or end behind, the keys that all rows have.
        margin = self._rows + BIN
        ahead = max(block.keys[0] - block.queries[0] - shift for block in found)
        behind = max(block.queries[0] + shift - block.keys[0] for block in found)
        self._base = margin + max(0, ahead)
        self._stride = max(widest + self._base, behind + margin, widest + margin)
        # However few keys there are, one looks at some bins of distances.
        lanes = max(1, AT_ONCE // (self._rows * max(widest, 4 * BIN)))
        self.lanes = min(lanes, len(q))
        most = max(len(block.queries) * len(block.keys) for block in found)
        self._scores = q.new_empty(self.lanes * most)
        self._weights = q.new_zeros(self.lanes, self._base + self._rows * self._stride)
        self._written = 0

    def scores(self, lanes: int, rows: int, width: int) -> Float[Tensor, "l r w"]:
        """Return memory for scores, and for whatever comes after them."""
        return self._scores[: lanes * rows * width].view(lanes, rows, width)

    def weights(self, lanes: int, rows: int, width: int) -> Float[Tensor, "l r w"]:
        """Return memory for weights, with zeros around it; all of it must be overwritten."""
        if width < self._written:
            every = self._seen(self.lanes, self._rows, self._written, self._stride, self._base)
            every[..., width:] = 0
        self._written = width
        return self._seen(lanes, rows, width, self._stride, self._base)

    def by_distance(self, lanes: int, rows: int, low: int, reach: Reach) -> Float[Tensor, "l r u"]:
        """Return the same weights by distance; see `Reach` for the columns.

        Args:
            lanes: How many there are.
            rows: How many queries.
            low: How many keys after the first one the first query stands.
            reach: The columns.
        """
        offset = self._base + low - reach.zero
        return self._seen(lanes, rows, reach.columns, self._stride + 1, offset)

    def _seen(
        self, lanes: int, rows: int, width: int, stride: int, offset: int
    ) -> Float[Tensor, "l r w"]:
        shape, strides = (lanes, rows, width), (self._weights.stride(0), stride, 1)
        return self._weights.as_strided(shape, strides, offset)
