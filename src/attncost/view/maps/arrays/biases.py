"""A bias as a page needs it: one number a distance where that is all it depends on.

    n + m - 1 numbers a head for T5's relative positions, n m otherwise

Negative infinity hides a key; where it does so in all heads it belongs to what is read, and the
bias holds 0 there. So does the least number of a 32-bit or brain float, with which models write
masks that are added.
"""

from dataclasses import dataclass
from typing import Final, Literal, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

# Far below every score, and above the least numbers that masks are written with.
_NOTHING: Final = -1e38
_PAIRS_AT_ONCE: Final = 1 << 22


@final
@dataclass(frozen=True, slots=True, eq=False)
class Bias:
    """What is added to the scores.

    Attributes:
        kind: Whether `rows` goes by distance, the key's minus the query's, or by query and key.
        rows: For each head, or once for all.
    """

    kind: Literal["diagonal", "dense"]
    rows: Float[Tensor, "_ l"] | Float[Tensor, "_ _ m"]

    def of(self, head: int, rows: slice, n: int) -> Float[Tensor, "r m"]:
        """Return the bias of some queries of a head, by its place.

        Args:
            head: Place among the heads.
            rows: Queries.
            n: All queries.
        """
        mine = self.rows[head if len(self.rows) > 1 else 0]
        if self.kind == "dense":
            return mine if len(mine) == 1 else mine[rows]
        # Row i begins with the distance -i.
        windows = mine.unfold(0, len(mine) - n + 1, 1).flip(0)
        return windows[rows]


def opened(bias: Float[Tensor, "_ _ _"], rows: slice) -> Bool[Tensor, "_ _"]:
    """Return which keys some queries may read in at least one head."""
    some = bias if bias.shape[1] == 1 else bias[:, rows]
    return (some > _NOTHING).any(0).cpu()


def hides(bias: Float[Tensor, "_ _ _"]) -> bool:
    """Say whether a bias hides a key in all heads."""
    step = max(1, _PAIRS_AT_ONCE // max(1, bias[:, 0].numel()))
    starts = range(0, bias.shape[1], step)
    return any(not opened(bias, slice(start, start + step)).all() for start in starts)


def kept(bias: Float[Tensor, "_ _ _"], n: int, m: int) -> Bias | None:
    """Return what a bias adds where it hides nothing, or None if that is 0 everywhere.

    Args:
        bias: For each head, query and key, or an axis of 1 in place of one.
        n: Queries.
        m: Keys.
    """
    bias = bias.detach().cpu().expand(-1, -1, m)
    if bias.shape[1] == n > 1:
        found = _diagonal(bias)
        if found is not None:
            return Bias("diagonal", found) if found.any() else None
    shown = bias.float().where(opened(bias, slice(None)), 0)
    shown = shown.masked_fill(shown <= _NOTHING, -torch.inf)
    return Bias("dense", shown) if shown.any() else None


def _diagonal(bias: Float[Tensor, "_ n m"]) -> Float[Tensor, "_ l"] | None:
    """Return the value at each distance, 0 where all is hidden; None if there are several."""
    h, n, m = bias.shape
    low = torch.full((h, n + m - 1), torch.inf)
    high = -low
    for i in range(n):
        row = bias[:, i].float()
        read = (row > _NOTHING).any(0)
        at = slice(n - 1 - i, n - 1 - i + m)
        torch.minimum(low[:, at], row.where(read, torch.inf), out=low[:, at])
        torch.maximum(high[:, at], row.where(read, -torch.inf), out=high[:, at])
        if bool((high[:, at] > low[:, at]).any()):
            return None
    return high.where(high >= low, 0).masked_fill((high >= low) & (high <= _NOTHING), -torch.inf)
