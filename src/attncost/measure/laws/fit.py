"""Fit the law of one subject's time, and judge it against the formula of its FLOPs.

    T(n) = c0 + c1 * linear(n) + c2 * core(n) + c3 * bytes(n) + c4 * faults(n),  c >= 0

For a self-attention layer `linear` is 8 n d² and `core` 4 n² d FLOPs. Bytes by formula and page
faults as they were counted belong to a law if they can be told from FLOPs, whether or not the times
ask for them, so that intervals know of no choice among terms. The coefficients are those of
non-negative least squares on relative errors of the medians. Intervals come from 1,000 draws of
what the true medians may be or, with fewer than 6 samples a length, from all laws within a
tolerance. One honest limitation: terms that nobody counted, such as softmax, are in those that
grow like them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from attncost.measure.laws import intervals
from attncost.measure.laws.change import change
from attncost.measure.laws.classes import growth
from attncost.measure.laws.criterion import finest
from attncost.measure.laws.evidence import weigh
from attncost.measure.laws.law import USUAL, Law, Margins
from attncost.measure.laws.medians import Medians, summarise
from attncost.measure.laws.results import FittedLength, Interval, Term
from attncost.measure.laws.separable import kept
from attncost.measure.laws.squares import solve
from attncost.measure.laws.terms import Prediction, Terms
from attncost.measure.laws.verdict import judge
from attncost.measure.laws.words import FURTHER, WORDS, listed


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
    return fit_medians(
        summarise(seconds, margins=margins, seed=seed),
        predicted=predicted,
        formula=formula,
        margins=margins,
    )


def fit_medians(
    medians: Medians, *, predicted: Prediction, formula: str = "its FLOPs", margins: Margins = USUAL
) -> Law:
    """Fit a law to medians, and to the page faults that were counted with them.

    Raises:
        ShapeError: If the formula has no answer for a length, or one without FLOPs.
    """
    flops = Terms.of(medians.lengths, predicted)
    noise = finest(flops.columns, medians, rounding=margins.rounding)
    terms, alike = kept(flops, medians)
    steps = intervals.exponents(medians, terms.total)
    evidence = weigh(medians, terms, exponents=steps, formula=formula, margins=margins)
    laws = intervals.drawn(evidence)
    fitted = intervals.terms(evidence, laws)
    evidence = replace(evidence, formula=_called(formula, fitted))
    return Law(
        formula=evidence.formula,
        terms=fitted,
        alike=alike,
        covariance=intervals.covariance(laws),
        rms=evidence.rms,
        points=_points(medians, terms),
        exponents=steps,
        overall=intervals.overall(medians, terms.total),
        long_end=intervals.long_end(medians, terms.total),
        growth=growth(medians, terms, noise=noise, margins=margins),
        change=change(medians, terms, noise=noise, margins=margins),
        crossover=intervals.crossover(evidence, laws),
        theory_crossover=terms.crossing(1.0),
        needed=evidence.needed,
        repeats=medians.repeats,
        intervals="tolerance" if laws is None else "bootstrap",
        margins=margins,
        verdict=judge(evidence),
    )


def _called(formula: str, terms: Sequence[Term]) -> str:
    """Name what surely takes time beside the formula."""
    return listed(
        [formula, *(WORDS[t.name].short for t in terms if t.name in FURTHER and t.takes_time)]
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
