"""Fit the law of one subject's time, and judge it against the formula of its FLOPs.

    T(n) = c0 + c1 * linear(n) + c2 * core(n),  c0, c1, c2 >= 0

For a self-attention layer `linear` is 8 n d² and `core` 4 n² d FLOPs. The coefficients are those
of non-negative least squares on relative errors of the medians. Intervals come from 1,000 draws of
what the true medians may be or, with fewer than 6 samples a length, from all laws within a
tolerance. One honest limitation: a kernel that changes its ways at some length has no one law,
and the errors at each length show it.
"""

from collections.abc import Mapping, Sequence

from attncost.measure.laws import intervals
from attncost.measure.laws.evidence import weigh
from attncost.measure.laws.law import USUAL, FittedLength, Interval, Law, Margins
from attncost.measure.laws.medians import Medians, summarise
from attncost.measure.laws.terms import Prediction, Terms, solve
from attncost.measure.laws.verdict import judge


def fit_law(
    seconds: Mapping[int, Sequence[float]],
    *,
    predicted: Prediction,
    formula: str = "its FLOPs",
    margins: Margins = USUAL,
    seed: int = 0,
) -> Law:
    """Fit a law to the samples of every length.

    Args:
        seconds: The samples of each length, in the order in which they were taken: the k-th of
            all lengths were taken in the same round, one soon after another. From 6 a length
            there are intervals; with fewer, as in a published table, a tolerance takes their
            place.
        predicted: The FLOPs of a length by formula; a multiply-add is 2.
        formula: What sentences call the formula.
        margins: What the verdict forgives.
        seed: Of the draws.

    Raises:
        ShapeError: If there are fewer than two lengths, or anything is not positive and finite.
    """
    medians = summarise(seconds, margins=margins, seed=seed)
    terms = Terms.of(medians.lengths, predicted)
    steps = intervals.exponents(medians, terms.total)
    evidence = weigh(medians, terms, exponents=steps, formula=formula, margins=margins)
    laws = intervals.drawn(evidence)
    return Law(
        formula=formula,
        constant=intervals.constant(evidence, laws),
        linear_rate=intervals.rate(evidence, laws, term=1),
        core_rate=intervals.rate(evidence, laws, term=2),
        merged=terms.merged,
        rms=evidence.rms,
        points=_points(medians, terms),
        exponents=steps,
        overall=intervals.overall(medians, terms.total),
        crossover=intervals.crossover(evidence, laws),
        theory_crossover=terms.crossing(1.0),
        repeats=medians.repeats,
        intervals="tolerance" if laws is None else "bootstrap",
        margins=margins,
        verdict=judge(evidence),
    )


def _points(medians: Medians, terms: Terms) -> tuple[FittedLength, ...]:
    fitted = terms.columns @ solve(terms.columns, medians.seconds)
    return tuple(
        FittedLength(
            length=length,
            seconds=Interval(*(float(x[i]) for x in (medians.seconds, medians.low, medians.high))),
            fitted=float(fitted[i]),
            linear=terms.flops[i].linear,
            core=terms.flops[i].core,
            error=float(fitted[i] / medians.seconds[i] - 1),
        )
        for i, length in enumerate(medians.lengths)
    )
