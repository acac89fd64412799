"""How sure a law is: intervals of its coefficients, as speeds, as a crossover and as exponents.

Draws of the medians give a law and an exponent each, and the middle 95 % of those the interval. A
table has too few samples for draws: there an interval holds the best law and every law that stays
within the band of every value, and that of an exponent, a weighted sum of log time, its worst
corners.
"""

from collections.abc import Sequence
from math import inf

import numpy as np

from attncost.measure.laws.bands import coefficient_range
from attncost.measure.laws.evidence import Evidence
from attncost.measure.laws.law import Exponent, Interval
from attncost.measure.laws.medians import Medians, ends
from attncost.measure.laws.terms import Values, solve, solve_each


def drawn(evidence: Evidence) -> Values | None:
    """Return the coefficients of the laws of all draws, one row a law; None without draws."""
    draws = evidence.medians.draws
    if draws is None:
        return None
    return solve_each(evidence.terms.columns, draws)


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
        measured=Interval.around(float(weights @ logs), low, high),
        theory=float(weights @ np.log(total[chosen])),
    )


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
    return Interval.around(float(value), *found)
