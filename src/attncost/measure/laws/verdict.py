"""Does the measured time agree with the formula? One rule, and the numbers it was applied to.

FLOPs are not seconds: a machine may run projections and attention at different speeds. But speeds
more than a factor of 10 apart mean that something else than these FLOPs takes the time. So

- **consistent**: a law whose speeds lie within that factor fits, and only such laws do;
- **inconsistent**: no law whose speeds lie within that factor fits, and noise does not explain
  it: in 95 % of draws of the medians the best such law is off by more than the tolerance, after
  noise is taken off (`evidence.proved`). A published table has no noise to take off;
- **undecided**: laws within and beyond the factor fit; or noise may explain the errors; or noise
  alone would make errors beyond the tolerance of an exact law; or the range is short, which is
  fewer than 4 lengths, or the longest less than 8 times the shortest.

For full attention the crossover moves as the ratio of speeds does, so the factor also says how
far the measured crossover may be from the formula's. `evidence` says when a law fits.
"""

from typing import Final

from attncost.core.units import show
from attncost.measure.laws import reasons
from attncost.measure.laws.evidence import Evidence
from attncost.measure.laws.law import Margins, Reason, Verdict
from attncost.measure.laws.sentences import percent

FEWEST_FOR_A_VERDICT: Final = 4
SHORTEST_RANGE: Final = 8


def judge(evidence: Evidence) -> Verdict:
    """Apply the rule."""
    lengths, tolerance = evidence.medians.lengths, evidence.margins.tolerance
    if len(lengths) < FEWEST_FOR_A_VERDICT or lengths[-1] < SHORTEST_RANGE * lengths[0]:
        return _too_short(evidence)
    if not evidence.agrees:
        explained = evidence.sampled and evidence.proved <= tolerance
        return _too_near(evidence) if explained else _inconsistent(evidence)
    # Errors this small are no accident, unless the medians might have been anywhere.
    if evidence.noise > tolerance:
        return _too_noisy(evidence)
    return _consistent(evidence) if evidence.settled else _too_wide(evidence)


def rule(margins: Margins) -> str:
    """Return the rule in words."""
    return (
        "Consistent: a law whose speeds for linear part and attention are at most "
        f"{margins.speeds:g} x apart fits within {percent(margins.tolerance)}, and no "
        "other does. Inconsistent: no such law fits, nor does noise explain that in 95 % of draws."
    )


def _consistent(evidence: Evidence) -> Verdict:
    sentence = (
        f"Consistent with {evidence.formula}: the law is off by "
        f"{show(evidence.rms, 'percent')} rms, with {reasons.found(evidence)}"
        f"{reasons.unplaced(evidence)}."
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
    sentence += reasons.unplaced(evidence)
    return Verdict("inconsistent", f"{sentence}.", tuple(why))


def _too_short(evidence: Evidence) -> Verdict:
    lengths = evidence.medians.lengths
    sentence = (
        f"Undecided: {len(lengths)} lengths from {lengths[0]:,} to {lengths[-1]:,} tokens are "
        f"too short a range; {FEWEST_FOR_A_VERDICT} or more, the longest at least "
        f"{SHORTEST_RANGE} times the shortest, can tell."
    )
    return Verdict("undecided", sentence, _both(evidence))


def _too_noisy(evidence: Evidence) -> Verdict:
    noise, tolerance = evidence.noise, evidence.margins.tolerance
    sentence = (
        f"Undecided: noise alone would make errors of {show(noise, 'percent')} rms, too much to "
        f"tell errors of {percent(tolerance)}; take more samples."
    )
    return _noise(evidence, sentence)


def _too_near(evidence: Evidence) -> Verdict:
    near, proved, tolerance = evidence.near, evidence.proved, evidence.margins.tolerance
    sentence = (
        f"Undecided: the best law is off by {show(near, 'percent')} rms, more than "
        f"{percent(tolerance)}, but without noise that may be {show(proved, 'percent')}; "
        "take more samples."
    )
    return _noise(evidence, sentence)


def _noise(evidence: Evidence, sentence: str) -> Verdict:
    reason = Reason(
        "noise",
        sentence,
        {
            "noise": evidence.noise,
            "tolerance": evidence.margins.tolerance,
            "rms": evidence.near,
            "proved": evidence.proved,
        },
    )
    return Verdict("undecided", sentence, (*_both(evidence), reason))


def _too_wide(evidence: Evidence) -> Verdict:
    share = float((evidence.terms.core / evidence.terms.total).max())
    sentence = (
        f"Undecided: a law of {evidence.formula} fits, but so do laws with "
        f"{reasons.found(evidence)}; attention is at most {show(share, 'percent')} of the "
        f"FLOPs at these lengths{reasons.unplaced(evidence)}."
    )
    return Verdict("undecided", sentence, (*_both(evidence), *_where(evidence)))


def _both(evidence: Evidence) -> tuple[Reason, Reason]:
    return reasons.growth(evidence), reasons.exponents(evidence)


def _where(evidence: Evidence) -> list[Reason]:
    return [reasons.crossover(evidence)] if evidence.speeds else []
