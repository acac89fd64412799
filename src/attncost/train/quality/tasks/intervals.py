"""How sure a mean over seeds is.

    mean +- t(0.975, n - 1) s / sqrt(n)

The interval holds for values that are about normal, which a few seeds cannot show; of one seed
there is none.
"""

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Final

from attncost.train.quality.estimate import Estimate

_QUANTILE: Final = 0.975


def estimate(
    values: Sequence[float], *, least: float = -math.inf, most: float = math.inf
) -> Estimate:
    """Return the mean of values and its interval.

    >>> estimate([0.75])
    Estimate(value=0.75, low=None, high=None)

    Args:
        values: One a seed, at least one.
        least: What no value can be below, nor the interval.
        most: What none can be above.
    """
    from scipy.stats import t  # noqa: PLC0415 -- takes longer to import than all the rest

    mean, count = fmean(values), len(values)
    if count == 1:
        return Estimate(mean)
    half = float(t.ppf(_QUANTILE, count - 1)) * stdev(values) / math.sqrt(count)
    return Estimate(mean, max(least, mean - half), min(most, mean + half))
