"""The intervals of a law's coefficients, as speeds and as a crossover.

Resampled medians give resampled laws, and the middle 95 % of those the interval. A table has no
samples: there an interval holds the best law and every law that stays within the tolerance of
every value.
"""

from math import inf

import numpy as np

from attncost.measure.evidence import Evidence
from attncost.measure.feasible import coefficient_range
from attncost.measure.law import Interval
from attncost.measure.medians import ends, interval
from attncost.measure.terms import Values, solve


def resampled(evidence: Evidence) -> Values | None:
    """Return the coefficients of resampled laws, one row a law; None without samples."""
    draws = evidence.medians.draws
    if draws is None:
        return None
    return np.stack([solve(evidence.terms.columns, seconds) for seconds in draws])


def constant(evidence: Evidence, laws: Values | None) -> Interval:
    """Return c0 in seconds."""
    return _interval(_best(evidence)[0], _range(evidence, laws, 0))


def rate(evidence: Evidence, laws: Values | None, *, term: int) -> Interval:
    """Return the FLOP/s of a term; of 1, the linear part, or 2, the core."""
    term = min(term, evidence.terms.columns.shape[1] - 1)
    found = _range(evidence, laws, term)
    turned = None if found is None else (_over(1, found[1]), _over(1, found[0]))
    return _interval(_over(1, _best(evidence)[term]), turned)


def crossover(evidence: Evidence, laws: Values | None) -> Interval | None:
    """Return the length from which the core takes longer; None if the formula has none."""
    if evidence.terms.crossing(1.0) is None:
        return None
    speeds = evidence.speeds
    if laws is not None:
        speeds = ends(np.array([_over(linear, core) for _, linear, core in laws]))
    best = _over(*_best(evidence)[1:])
    lengths = [evidence.terms.crossing(speed) for speed in (best, *(speeds or ()))]
    value, *found = (inf if length is None else length for length in lengths)
    return _interval(value, (found[0], found[1]) if found else None)


def _best(evidence: Evidence) -> Values:
    return solve(evidence.terms.columns, evidence.medians.seconds)


def _range(evidence: Evidence, laws: Values | None, term: int) -> tuple[float, float] | None:
    if laws is not None:
        return ends(laws[:, term])
    medians = evidence.medians
    return coefficient_range(evidence.terms.columns, medians.low, medians.high, of=term)


def _over(numerator: float, denominator: float) -> float:
    """Divide; what takes no time is endlessly fast."""
    return float(numerator) / float(denominator) if denominator > 0 else inf


def _interval(value: float, found: tuple[float, float] | None) -> Interval:
    if found is None:
        return Interval(float(value) if value < inf else None, None, None)
    return interval(float(value), *found)
