"""What is added up block by block: numbers of each query, and sums over the queries that count.

All weights are exponentials of scores minus the largest of their row, and are divided by their sum
only where queries are added up.
"""

import math
from dataclasses import dataclass
from typing import Final, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attncost.core.counts import ceil_div
from attncost.view.statistics.distances import Distances
from attncost.view.statistics.piece import Piece
from attncost.view.statistics.subject import Subject

# Of each query, in this order: its largest score, and sums of weights, of weights times their
# logarithms to base 2, of weights times distances, of small weights, of weights of some keys.
OF_QUERIES: Final = (
    "top",
    "total",
    "surprise",
    "distance",
    "negligible",
    "on_first",
    "on_padded",
)


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Sums:
    """Sums of weights that are not divided yet, but for those over queries; see `Statistics`.

    Attributes:
        of_queries: See `OF_QUERIES`.
        near: Weight of the token before, and of the own token.
        spoilt: Whether a score that a query reads is not finite.
        lost: Whether a value that it reads is not finite.
    """

    of_queries: Float[Tensor, "lanes n number"]
    near: Float[Tensor, "lanes n 2"]
    within: Float[Tensor, "lanes n w"]
    quantiles: Float[Tensor, "lanes n p"]
    spoilt: Bool[Tensor, "lanes n"]
    lost: Bool[Tensor, "lanes n"]
    output: Float[Tensor, "lanes n e"] | None
    received: Float[Tensor, "lanes m"]
    map: Float[Tensor, "lanes r c"]
    by_distance: Float[Tensor, "lanes l"]

    @classmethod
    def of(cls, subject: Subject) -> "Sums":
        """Return sums of nothing."""
        (b, h, n, m), gauges, zeros = subject.sizes, subject.gauges, subject.q.new_zeros
        rows, columns = pooled(n, gauges.map_size), pooled(m, gauges.map_size)
        of_queries = zeros(b * h, n, len(OF_QUERIES))
        of_queries[..., 0] = -math.inf
        return cls(
            of_queries=of_queries,
            near=zeros(b * h, n, 2),
            within=zeros(b * h, n, len(gauges.widths)),
            quantiles=zeros(b * h, n, len(gauges.quantiles)),
            spoilt=zeros(b * h, n, dtype=torch.bool),
            lost=zeros(b * h, n, dtype=torch.bool),
            output=None if subject.v is None else zeros(b * h, n, subject.v.shape[2]),
            received=zeros(b * h, m),
            map=zeros(b * h, ceil_div(n, rows), ceil_div(m, columns)),
            by_distance=zeros(b * h, max(n, m)),
        )

    def add(
        self,
        piece: Piece,
        of: Float[Tensor, "l 1 r"],
        weights: Float[Tensor, "l r w"],
        distances: Distances,
    ) -> None:
        """Add weights to the sums by key and by distance.

        Args:
            piece: What they are.
            of: What each query is multiplied with.
            weights: Its weights.
            distances: The same by distance.
        """
        _, _, lanes, queries, keys = piece
        size = pooled(self.near.shape[1], self.map.shape[1])
        first, last = queries[0] // size, queries[-1] // size
        if first < last:
            rows = torch.arange(queries.start, queries.stop, device=of.device) // size
            of_rows = of * (rows == torch.arange(first, last + 1, device=of.device)[:, None])
        else:
            of_rows = of
        found = torch.bmm(of_rows, weights)
        self.received[lanes, keys.start : keys.stop] += (
            found.sum(1) if first < last else found[:, 0]
        )
        size = pooled(self.received.shape[1], self.map.shape[2])
        before, after = keys.start % size, -keys.stop % size
        if before or after:
            # Blocks of keys that begin before these, or end behind them.
            found = torch.nn.functional.pad(found, (before, after))
        column = keys.start // size
        cells = found.unflatten(-1, (-1, size)).sum(-1)
        self.map[lanes, first : last + 1, column : column + cells.shape[2]] += cells
        for start, found in distances.summed(of):
            far = self.by_distance[lanes, start : start + found.shape[1]]
            # Bins go beyond the farthest distance that there is.
            far += found[:, : far.shape[1]]


def pooled(size: int, most: int) -> int:
    """Return how many neighbours a block has, if there are at most so many blocks.

    The number of blocks that this makes has the same answer.
    """
    return max(1, ceil_div(size, most)) if most else 1
