"""One head, or one matrix of weights, as a picture for papers: SVG, or PNG without any font.

Up to 128 x 128 every cell is an exact weight; above, a cell is the mean mass that a query of a
block gives to a block of keys, and the picture says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from attncost.core.counts import ceil_div
from attncost.core.errors import ShapeError
from attncost.view.maps.arrays.pooled import somewhere
from attncost.view.maps.header.hidden import Hidden
from attncost.view.maps.header.layers import GAUGES, Masks
from attncost.view.maps.header.measured_call import measured_call
from attncost.view.maps.header.sequences import Legend
from attncost.view.maps.pictures import raster, vector
from attncost.view.maps.pictures.drawing import Drawing, drawing
from attncost.view.prices.pieces import one_head, one_sequence
from attncost.view.seen import Seen

_MOST: Final = GAUGES.map_size


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Picture:
    """A picture of weights.

    Attributes:
        weights: Of each cell, NaN where nothing is read.
        padded: Which cells are padding.
        lengths: Queries and keys, at least as many as rows and columns.
        title: What stands above.
        queries: A name for each, or none.
        keys: A name for each, or none.
        query: A query whose row is marked.
    """

    weights: NDArray[Any]
    padded: NDArray[Any]
    lengths: tuple[int, int]
    title: str
    queries: Sequence[str] = ()
    keys: Sequence[str] = ()
    query: int | None = None

    def svg(self) -> str:
        """Return it as SVG: letters and lines are vectors, cells an image within."""
        return vector.svg(self._drawing())

    def png(self) -> bytes:
        """Return it as PNG."""
        return raster.png(self._drawing())

    def _drawing(self) -> Drawing:
        return drawing(
            self.weights,
            self.padded,
            lengths=self.lengths,
            title=self.title,
            names=(self.queries, self.keys),
            query=self.query,
        )


def picture(
    seen: Seen,
    head: int,
    *,
    sequence: int = 0,
    tokens: object = None,
    query: int | None = None,
    title: str = "",
) -> Picture:
    """Return the picture of one head of a call.

    Args:
        seen: The call.
        head: The model's number of the head.
        sequence: Which sequence of a batch.
        tokens: A list of strings, or a tuple of such lists of a source and a target.
        query: A query to mark, from the end if negative.
        title: Above the picture; layer and head if left out.

    Raises:
        ShapeError: If there is no such head, sequence or query.
    """
    if head not in seen.heads:
        known = ", ".join(map(str, seen.heads))
        raise ShapeError(
            f"head must be one of those of {seen.name!r} that were seen, {known}; got {head}."
        )
    if not 0 <= sequence < len(seen.q):
        raise ShapeError(f"sequence must lie in [0, {len(seen.q)}), got {sequence}.")
    one = one_head(one_sequence(seen, sequence), seen.heads.index(head))
    n, m = one.q.shape[2], one.k.shape[2]
    if query is not None and not -n <= query < n:
        raise ShapeError(f"query must lie in [{-n}, {n}), as there are {n}, got {query}.")
    legend, hidden = Legend.of(tokens, None, None), Hidden.of(one)
    weights, padded = _exact(one, hidden) if max(n, m) <= _MOST else _pooled(one, hidden)
    keys = legend.named(m, source=one.cross, growing=n < m and not one.cross) or ()
    return Picture(
        weights=weights,
        padded=padded,
        lengths=(n, m),
        title=title or f"{one.name or 'the model'}, head {head}",
        queries=(legend.named(n) or ()) if one.cross else keys[-n:],
        keys=keys,
        query=None if query is None else query % n,
    )


def _exact(one: Seen, hidden: Hidden) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return every weight, NaN where a pair is not read, and which pairs are padding."""
    weights = one.weights()[0, 0].detach().float().cpu().numpy()
    read = Masks().reads(one).mask(slice(0, len(weights))).numpy()
    padded = _padding(hidden.queries, len(weights))[:, None] | _padding(hidden.keys, read.shape[1])
    return np.where(read, weights, np.nan), padded


def _pooled(one: Seen, hidden: Hidden) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return mean masses of blocks, NaN where no pair is read, and which blocks are all padding."""
    n, m = one.q.shape[2], one.k.shape[2]
    found = measured_call(one)
    pooled = found.map[0, 0].detach().float().cpu().numpy()
    queries, keys = (
        _padding(some, length) for some, length in ((hidden.queries, n), (hidden.keys, m))
    )
    read = somewhere(
        Masks().reads(one),
        (pooled.shape[0], pooled.shape[1]),
        keys=~keys,
        queries=found.counted[0].cpu().numpy(),
    )
    (r, c) = read.shape
    padded = _all(queries, ceil_div(n, r))[:, None] | _all(keys, ceil_div(m, c))
    return np.where(read, pooled, np.nan), padded


def _padding(hidden: Tensor | None, length: int) -> NDArray[Any]:
    return np.zeros(length, bool) if hidden is None else hidden.numpy()


def _all(padded: NDArray[Any], block: int) -> NDArray[Any]:
    """Return which blocks are all padding."""
    return np.logical_and.reduceat(padded, np.arange(0, len(padded), block))
