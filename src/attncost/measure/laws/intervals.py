"""How sure a law is: intervals of its coefficients, as speeds, as a crossover and as exponents.

Draws of the medians give a law and an exponent each, and the middle 95 % of those the interval. A
table has too few samples for draws: there an interval holds the best law and every law that stays
within the band of every value, and that of an exponent, a weighted sum of log time, its worst
corners.
"""

from collections.abc import Sequence
from math import inf
from typing import Final

import numpy as np

from attncost.measure.laws.bands import coefficient_range
from attncost.measure.laws.evidence import Evidence
from attncost.measure.laws.medians import Medians, ends
from attncost.measure.laws.results import Exponent, Interval, Term
from attncost.measure.laws.squares import Values, solve, solve_each
from attncost.measure.laws.words import WORDS

# The long end begins at this part of the longest length.
_LONG: Final = 0.25


def drawn(evidence: Evidence) -> Values | None:
    """Return the coefficients of the laws of all draws, one row a law; None without draws."""
    draws = evidence.medians.draws
    if draws is None:
        return None
    return solve_each(evidence.terms.columns, draws)


def terms(evidence: Evidence, laws: Values | None) -> tuple[Term, ...]:
    """Return every term with its interval and its share of the time."""
    columns, best = evidence.terms.columns, _best(evidence)
    shares = columns * best / (columns @ best)[:, None]
    return tuple(
        _term(name, columns[:, i], shares[:, i], seconds=best[i], found=_range(evidence, laws, i))
        for i, name in enumerate(evidence.terms.names)
    )


def covariance(laws: Values | None) -> tuple[tuple[float, ...], ...] | None:
    """Return the covariance of the coefficients over the draws."""
    if laws is None:
        return None
    return tuple(tuple(map(float, row)) for row in np.atleast_2d(np.cov(laws, rowvar=False)))


def _term(
    name: str,
    amounts: Values,
    shares: Values,
    *,
    seconds: float,
    found: tuple[float, float] | None,
) -> Term:
    turned = None if found is None else (_over(1, found[1]), _over(1, found[0]))
    return Term(
        name=name,
        counts=WORDS[name].counts,
        amounts=tuple(map(float, amounts)),
        seconds=_interval(seconds, found),
        rate=_interval(_over(1, seconds), turned),
        shares=tuple(map(float, shares)),
    )


def crossover(evidence: Evidence, laws: Values | None) -> Interval | None:
    """Return the length from which the core takes longer.

    None if the formula has no such length, or if the lengths are too short to place it.
    """
    if evidence.terms.crossing(1.0) is None or evidence.needed is not None:
        return None
    speeds = evidence.speeds
    if laws is not None:
        speeds = ends(np.array([_over(linear, core) for linear, core in laws[:, 1:3]]))
    best = _over(*_best(evidence)[1:3])
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


def long_end(medians: Medians, total: Values) -> Exponent:
    """Return the slope through the last lengths, from a quarter of the longest on, two or more."""
    lengths = medians.lengths
    through = [i for i, n in enumerate(lengths) if n >= _LONG * lengths[-1]]
    return slope(medians, total, through=through if len(through) > 1 else range(-2, 0))


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
