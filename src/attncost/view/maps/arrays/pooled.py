"""The pooled map of a head in 8 bits: equal steps are equal factors of mass.

1 + 254 log(mass / low) / log(1 / low),  1 for anything less that is read,  0 for what is not
"""

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attncost.core.counts import ceil_div
from attncost.view.maps.arrays.spans import Reads

Numbers: TypeAlias = NDArray[Any]

LOW: Final = 1e-6
_STEPS: Final = 254


def quantised(masses: Numbers, somewhere: Numbers) -> Numbers:
    """Return masses in 8 bits.

    Args:
        masses: Mean of queries of a row on the keys of a column.
        somewhere: Whether any pair there is read.
    """
    log = np.log(np.clip(masses, LOW, 1) / LOW) / np.log(1 / LOW)
    return np.where(somewhere, 1 + np.round(_STEPS * log), 0).astype(np.uint8)


def somewhere(reads: Reads, shape: tuple[int, int], *, keys: Numbers, queries: Numbers) -> Numbers:
    """Return which cells of a map hold a pair that is read, in time that grows with the runs.

    Args:
        reads: What is read.
        shape: Rows and columns of the map.
        keys: Which keys count, the others being padding.
        queries: Which queries count.
    """
    (r, c), n, m = shape, len(queries), len(keys)
    row, column = _cell_of(n, r), _cell_of(m, c)
    rows = reads.rows()
    used = queries[rows]
    found = np.zeros((r, c + 1), np.int64)
    np.add.at(found, (row[rows[used]], column[reads.starts[used]]), 1)
    np.add.at(found, (row[rows[used]], column[reads.ends[used] - 1] + 1), -1)
    counted = np.zeros(c, bool)
    np.logical_or.at(counted, column, keys)
    return (found.cumsum(1)[:, :-1] > 0) & counted


def pooled(weights: Numbers, most: int) -> Numbers:
    """Return the mean masses of a matrix's blocks, NaN where all of a block is.

    Args:
        weights: Of all pairs, NaN where masked.
        most: Rows and columns that there may be.
    """
    (n, m), nothing = weights.shape, np.isnan(weights)
    tall, wide = ceil_div(n, most), ceil_div(m, most)
    rows, columns = np.arange(0, n, tall), np.arange(0, m, wide)
    mass = np.add.reduceat(np.nan_to_num(weights.astype(np.float64)), columns, axis=1)
    mean = np.add.reduceat(mass, rows, axis=0) / np.diff([*rows, n])[:, None]
    shut = np.logical_and.reduceat(np.logical_and.reduceat(nothing, columns, axis=1), rows, axis=0)
    return np.where(shut, np.nan, mean)


def _cell_of(length: int, cells: int) -> Numbers:
    """Return the cell of each token; all are equally long but the last, which may be shorter."""
    return np.arange(length) // max(1, ceil_div(length, cells))
