"""A rule over pairs, looked at cell by cell until it fits into a picture.

Exact as long as a cell is at most 64 x 64 pairs; of a larger cell 64 x 64 pairs are looked at,
spread over it at random but the same each time, so what is rarer than that may be missed. However
long the sequence, one row of cells lies in memory: 64 queries times 64 keys a cell.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final, TypeAlias

import torch
from torch import Tensor

from attncost.core.errors import ShapeError
from attncost.draw.grid import Grid, edges

Rule: TypeAlias = Callable[[Tensor, Tensor], Tensor]

_LOOKS: Final = 64


def sampled(rule: Rule, n: int, m: int, *, most: tuple[int, int]) -> Grid:
    """Return the shares of the pairs that a rule allows.

    Args:
        rule: Takes positions of queries and keys, and broadcasts; the last query stands at the
            last key.
        n: Queries.
        m: Keys.
        most: Rows and columns that the picture may have.

    Raises:
        ShapeError: If there is nothing to draw.
    """
    if n < 1 or m < 1:
        raise ShapeError(f"a picture needs at least 1 query and 1 key, got n = {n} and m = {m}.")
    # Positions of queries and keys are drawn apart: alike, they would overrate the diagonal.
    columns = list(_looks(m, min(m, most[1]), seed=0))
    keys, ends = torch.cat(columns), torch.tensor([0, *map(len, columns)]).cumsum(0)
    rows = []
    for queries in _looks(n, min(n, most[0]), seed=1):
        allowed = rule(queries[:, None] + (m - n), keys).expand(len(queries), len(keys))
        before = torch.nn.functional.pad(allowed.sum(0).cumsum(0), (1, 0))[ends]
        rows.append(before.diff().double() / (len(queries) * ends.diff()))
    return Grid(n, m, tuple(tuple(row.tolist()) for row in rows))


def _looks(length: int, cells: int, *, seed: int) -> Iterator[Tensor]:
    """Yield the positions to look at in each cell: all, or one at random in each of 64 strata.

    Evenly spaced ones would see all or nothing of a pattern that repeats.
    """
    generator = torch.Generator().manual_seed(seed)
    ends = edges(length, cells)
    for start, end in pairwise(ends):
        if end - start <= _LOOKS:
            yield torch.arange(start, end)
        else:
            strata = torch.arange(_LOOKS) + torch.rand(
                _LOOKS, generator=generator, dtype=torch.float64
            )
            yield start + (strata * ((end - start) / _LOOKS)).long()
