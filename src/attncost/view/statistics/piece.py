"""What is computed at once: a block in some heads of some sequences."""

from typing import NamedTuple

import torch
from torch import Tensor


class Piece(NamedTuple):
    """Some heads of one sequence, or all heads of some; they lie side by side as lanes.

    Attributes:
        sequences: Which sequences.
        heads: Which query heads of each.
        lanes: Which these are of all heads of all sequences.
        queries: Which queries.
        keys: Which keys; fewer than the block has, if those sequences read fewer.
    """

    sequences: slice
    heads: slice
    lanes: slice
    queries: range
    keys: range

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """How many sequences, heads, queries and keys it has."""
        sequences, heads = (part.stop - part.start for part in (self.sequences, self.heads))
        return sequences, heads, len(self.queries), len(self.keys)

    def of_queries(self, x: Tensor) -> Tensor:
        """Return what belongs to its queries, of `x` (all lanes, n, ...)."""
        return x[self.lanes, self.queries.start : self.queries.stop]

    def of_keys(self, x: Tensor, group: int) -> Tensor:
        """Return what belongs to its keys, of `x` (all lanes that `group` heads share, m, ...)."""
        lanes = self.lanes
        if group > 1:
            first, last = lanes.start // group, (lanes.stop - 1) // group
            lanes = slice(first, last + 1)
        x = x[lanes, self.keys.start : self.keys.stop]
        if group == 1 or len(x) == 1 == self.lanes.stop - self.lanes.start:
            return x
        numbers = torch.arange(self.lanes.start, self.lanes.stop, device=x.device)
        return x[numbers // group - lanes.start]
