"""Which laws pass through a band at every length: exact answers by linear programming.

A ratio of two coefficients is largest where a linear programme in the coefficients over the
denominator is (Charnes and Cooper, 1962). Nothing is fitted here, so nothing depends on how
errors are weighted.
"""

from math import inf
from typing import Final, Literal

import numpy as np

from attncost.core.errors import AttnCostError
from attncost.measure.laws.squares import Values

# What SciPy's linear programmes report.
_SOLVED: Final = 0
_INFEASIBLE: Final = 2
_UNBOUNDED: Final = 3
# Method and presolving: the second way leads round what may stop the first.
_WAYS: Final[tuple[tuple[Literal["highs", "highs-ipm"], bool], ...]] = (
    ("highs", True),
    ("highs-ipm", False),
)


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
    of, over = ratio
    middle = np.sqrt(low * high)
    rows = columns / middle[:, None]
    sizes = np.linalg.norm(rows, axis=0)
    rows = rows / sizes
    # Unknown are the coefficients times k, and k itself, the last; the denominator is set to 1.
    above = np.column_stack([rows, -high / middle])
    below = np.column_stack([-rows, low / middle])
    goal, one = np.zeros(len(sizes) + 1), np.zeros((1, len(sizes) + 1))
    goal[of] = sign
    one[0, -1 if over is None else over] = 1
    value = _maximum(goal, np.vstack([above, below]), one)
    if value is None or value == inf:
        return value
    return float(sign * value / sizes[of] * (1 if over is None else sizes[over]))


def _maximum(goal: Values, limits: Values, one: Values) -> float | None:
    """Return the greatest goal; infinity if unbounded, None if and only if nothing is feasible.

    Raises:
        AttnCostError: If the solver has no answer, which says nothing of the laws.
    """
    from scipy.optimize import linprog  # noqa: PLC0415 -- half a second, and only a fit needs it

    message = ""
    for method, presolve in _WAYS:
        found = linprog(
            -goal,
            A_ub=limits,
            b_ub=np.zeros(len(limits)),
            A_eq=one,
            b_eq=np.ones(1),
            method=method,
            options={"presolve": presolve},
        )
        if found.status == _SOLVED and found.fun is not None:
            return -float(found.fun)
        if found.status in (_INFEASIBLE, _UNBOUNDED):
            return inf if found.status == _UNBOUNDED else None
        message = " ".join(str(found.message).split())
    raise AttnCostError(
        f"no answer to which laws fit: the solver says {message!r}; leave out the length whose "
        "time or FLOPs differ most from the others'."
    )
