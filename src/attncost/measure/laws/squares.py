"""The best sum of some columns, none negative, by least squares of relative errors.

Every length weighs the same, however long it takes (Lawson and Hanson, 1974).
"""

from itertools import combinations
from math import inf
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Values: TypeAlias = NDArray[np.float64]

# A term with less of the time than this at every length is a rounding error.
_DUST: Final = 1e-9


def solve(columns: Values, seconds: Values) -> Values:
    """Return the coefficients, none negative, with the least relative error."""
    from scipy.optimize import nnls  # noqa: PLC0415 -- half a second, and only a fit needs it

    rows = columns / seconds[:, None]
    sizes = np.linalg.norm(rows, axis=0)
    found = np.asarray(nnls(rows / sizes, np.ones_like(seconds))[0] / sizes)
    return np.where(found * rows.max(axis=0) < _DUST, 0.0, found)


def solve_each(columns: Values, draws: Values) -> Values:
    """Do the same for many rows of times at once, in a quarter of the time.

    The best sum uses some of the columns, and is their least squares without the condition: so
    all choices are tried, of which three columns have seven.
    """
    typical = np.median(draws, axis=0)
    weights = typical / draws
    found, least = np.zeros((len(draws), columns.shape[1])), np.full(len(draws), inf)
    for chosen in _choices(columns.shape[1]):
        # Orthogonal once for all draws: their normal equations are then well conditioned.
        q, r = np.linalg.qr(columns[:, chosen] / typical[:, None])
        rows = weights[:, :, None] * q
        sums = np.linalg.solve(rows.transpose(0, 2, 1) @ rows, rows.sum(axis=1)[:, :, None])
        squares = np.sum(((rows @ sums)[:, :, 0] - 1) ** 2, axis=1)
        coefficients = np.linalg.solve(r, sums[:, :, 0].T).T
        better = np.all(coefficients >= 0, axis=1) & (squares < least)
        least = np.where(better, squares, least)
        found[better] = 0
        found[np.ix_(better, chosen)] = coefficients[better]
    shares = np.stack([found[:, i] * (c / draws).max(axis=1) for i, c in enumerate(columns.T)], 1)
    return np.where(shares < _DUST, 0.0, found)


def _choices(count: int) -> list[list[int]]:
    sizes = range(1, count + 1)
    return [list(chosen) for size in sizes for chosen in combinations(range(count), size)]


def rms_each(columns: Values, draws: Values) -> Values:
    """Return the root mean square of the relative errors of the best sum for each row of times."""
    errors = solve_each(columns, draws) @ columns.T / draws - 1
    return np.asarray(np.sqrt(np.mean(errors**2, axis=1)))


def rms(columns: Values, seconds: Values) -> float:
    """Return the root mean square of the relative errors of the best sum of the columns."""
    errors = columns @ solve(columns, seconds) / seconds - 1
    return float(np.sqrt(np.mean(errors**2)))
