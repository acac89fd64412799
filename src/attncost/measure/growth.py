"""How fast time grows: exponents of the length, between neighbours and over all lengths.

An exponent is a weighted sum of log time, which makes its interval exact: by resampled medians,
or by the worst corners of the bands.
"""

from collections.abc import Sequence

import numpy as np

from attncost.measure.law import Exponent
from attncost.measure.medians import Medians, ends, interval
from attncost.measure.terms import Values


def exponents(medians: Medians, total: Values) -> tuple[Exponent, ...]:
    """Return the exponent between every two neighbouring lengths.

    Args:
        medians: The measured time of each length.
        total: All FLOPs by formula at each length.
    """
    return tuple(slope(medians, total, through=(i, i + 1)) for i in range(len(medians.lengths) - 1))


def overall(medians: Medians, total: Values) -> Exponent:
    """Return the slope of a straight line through all lengths on doubly logarithmic paper."""
    return slope(medians, total, through=range(len(medians.lengths)))


def slope(medians: Medians, total: Values, *, through: Sequence[int]) -> Exponent:
    """Return the exponent that fits some of the lengths best, named by their places."""
    chosen = list(through)
    x = np.log(np.array([medians.lengths[i] for i in chosen], float))
    weights = (x - x.mean()) / np.sum((x - x.mean()) ** 2)
    logs, bottom, top = (
        np.log(values[chosen]) for values in (medians.seconds, medians.low, medians.high)
    )
    if medians.draws is None:
        low, high = (
            float(np.minimum(weights * bottom, weights * top).sum()),
            float(np.maximum(weights * bottom, weights * top).sum()),
        )
    else:
        low, high = ends(np.log(medians.draws[:, chosen]) @ weights)
    return Exponent(
        start=medians.lengths[chosen[0]],
        end=medians.lengths[chosen[-1]],
        measured=interval(float(weights @ logs), low, high),
        theory=float(weights @ np.log(total[chosen])),
    )
