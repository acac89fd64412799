"""Which laws pass through a band at every length: exact answers by linear programming.

A ratio of two coefficients is largest where a linear programme in the coefficients over the
denominator is (Charnes and Cooper, 1962). Nothing is fitted here, so nothing depends on how
errors are weighted.
"""

from math import inf

import numpy as np

from attncost.measure.terms import Values


def passes(columns: Values, low: Values, high: Values) -> bool:
    """Return whether some sum of the columns, none negative, stays within the band."""
    return _most(columns, low, high, (0, None)) is not None


def coefficient_range(
    columns: Values, low: Values, high: Values, *, of: int
) -> tuple[float, float] | None:
    """Return the least and the greatest coefficient of one column; None if no sum passes."""
    least, most = (_most(columns, low, high, (of, None), sign=sign) for sign in (-1, 1))
    return None if least is None or most is None else (least, most)


def ratio_range(
    columns: Values, low: Values, high: Values, *, of: int, over: int
) -> tuple[float, float] | None:
    """Return the least and the greatest ratio of two coefficients; None if no sum passes."""
    if not passes(columns, low, high):
        return None
    most = _most(columns, low, high, (of, over))
    inverse = _most(columns, low, high, (over, of))
    # A denominator that must be 0 leaves no programme to solve: the ratio has no end.
    most, inverse = (inf if x is None else x for x in (most, inverse))
    return (1 / inverse if inverse else inf), most


def _most(
    columns: Values,
    low: Values,
    high: Values,
    ratio: tuple[int, int | None],
    *,
    sign: int = 1,
) -> float | None:
    """Return the greatest (or least) coefficient, or ratio; infinity if unbounded, None if none."""
    from scipy.optimize import linprog  # noqa: PLC0415 -- half a second, and only a fit needs it

    of, over = ratio
    middle = np.sqrt(low * high)
    rows = columns / middle[:, None]
    sizes = np.linalg.norm(rows, axis=0)
    rows = rows / sizes
    # Unknown are the coefficients times k, and k itself, the last; the denominator is set to 1.
    above = np.column_stack([rows, -high / middle])
    below = np.column_stack([-rows, low / middle])
    goal, one = np.zeros(len(sizes) + 1), np.zeros((1, len(sizes) + 1))
    goal[of] = -sign
    one[0, -1 if over is None else over] = 1
    found = linprog(
        goal, A_ub=np.vstack([above, below]), b_ub=np.zeros(2 * len(rows)), A_eq=one, b_eq=[1.0]
    )
    if found.status == 3:
        return inf
    if found.status != 0 or found.x is None:
        return None
    return float(found.x[of] / sizes[of] * (1 if over is None else sizes[over]))
