"""Does the measured time agree with the formula? One rule, and the numbers it was applied to.

FLOPs are not seconds: a machine may run projections and attention at different speeds. But speeds
more than a factor of 10 apart mean that something else than these FLOPs takes the time. So

- **consistent**: a law whose speeds lie within that factor fits, and only such laws do;
- **inconsistent**: no law whose speeds lie within that factor fits, even when what noise adds to
  the errors in 95 % of runs is taken off;
- **undecided**: laws within and beyond the factor fit; or noise alone may explain the errors; or
  the standard error of the medians exceeds the tolerance; or the range is short, which is fewer
  than 4 lengths, or the longest less than 8 times the shortest.

For full attention the crossover moves as the ratio of speeds does, so the factor also says how
far the measured crossover may be from the formula's. `evidence` says when a law fits.
"""

from typing import Final

from attncost.core.units import show
from attncost.measure import reasons
from attncost.measure.evidence import Evidence
from attncost.measure.law import Margins, Reason, Verdict

FEWEST_LENGTHS: Final = 4
SHORTEST_RANGE: Final = 8


def judge(evidence: Evidence) -> Verdict:
    """Apply the rule."""
    lengths, tolerance = evidence.medians.lengths, evidence.margins.tolerance
    if len(lengths) < FEWEST_LENGTHS or lengths[-1] < SHORTEST_RANGE * lengths[0]:
        return _too_short(evidence)
    if not evidence.agrees:
        forgiven = evidence.sampled and evidence.excess <= tolerance
        return _too_noisy(evidence) if forgiven else _inconsistent(evidence)
    # Errors this small are no accident, unless the medians might have been anywhere.
    if evidence.medians.noise > tolerance:
        return _too_noisy(evidence)
    return _consistent(evidence) if evidence.settled else _too_wide(evidence)


def rule(margins: Margins) -> str:
    """Return the rule in words."""
    return (
        "Consistent: a law whose speeds for linear part and attention are at most "
        f"{margins.speeds:g} x apart fits within {reasons.percent(margins.tolerance)}, and no "
        "other does. Inconsistent: no such law fits."
    )


def _consistent(evidence: Evidence) -> Verdict:
    sentence = (
        f"Consistent with {evidence.formula}: the law is off by "
        f"{show(evidence.rms, 'percent')} rms, with {reasons.found(evidence)}."
    )
    return Verdict("consistent", sentence, (*_both(evidence), *_where(evidence)))


def _inconsistent(evidence: Evidence) -> Verdict:
    growth, exponents = _both(evidence)
    start, end = evidence.medians.lengths[0], evidence.medians.lengths[-1]
    sentence = (
        f"Inconsistent with {evidence.formula}: from {start:,} to {end:,} tokens the time grows "
        f"{growth.values['measured']:.1f} x, the formula {growth.values['formula']:.1f} x"
    )
    why = [growth, exponents]
    why += _where(evidence) or [reasons.misfit(evidence)]
    beyond = reasons.beyond(evidence)
    if beyond:
        why.append(beyond)
        sentence += (
            f"; from {beyond.values['start']:,} tokens on, time beyond the FLOPs goes with "
            f"n^{beyond.values['measured']:.2f} or faster"
        )
    return Verdict("inconsistent", f"{sentence}.", tuple(why))


def _too_short(evidence: Evidence) -> Verdict:
    lengths = evidence.medians.lengths
    sentence = (
        f"Undecided: {len(lengths)} lengths from {lengths[0]:,} to {lengths[-1]:,} tokens are "
        f"too short a range; {FEWEST_LENGTHS} or more, the longest at least {SHORTEST_RANGE} "
        "times the shortest, can tell."
    )
    return Verdict("undecided", sentence, _both(evidence))


def _too_noisy(evidence: Evidence) -> Verdict:
    noise, tolerance = evidence.medians.noise, evidence.margins.tolerance
    sentence = (
        f"Undecided: the standard error of the medians is {show(noise, 'percent')}, too much to "
        f"tell errors of {reasons.percent(tolerance)}; take more samples."
    )
    reason = Reason("noise", sentence, {"noise": noise, "tolerance": tolerance})
    return Verdict("undecided", sentence, (*_both(evidence), reason))


def _too_wide(evidence: Evidence) -> Verdict:
    share = float((evidence.terms.core / evidence.terms.total).max())
    sentence = (
        f"Undecided: {evidence.formula} fits, but so do laws with {reasons.found(evidence)}; "
        f"attention is at most {show(share, 'percent')} of the FLOPs at these lengths."
    )
    return Verdict("undecided", sentence, (*_both(evidence), *_where(evidence)))


def _both(evidence: Evidence) -> tuple[Reason, Reason]:
    return reasons.growth(evidence), reasons.exponents(evidence)


def _where(evidence: Evidence) -> list[Reason]:
    return [reasons.crossover(evidence)] if evidence.speeds else []
