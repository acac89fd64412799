"""The reasons of a verdict, each a sentence with its numbers."""

from math import inf

from attncost.core.units import show
from attncost.measure.laws.evidence import Evidence
from attncost.measure.laws.intervals import slope
from attncost.measure.laws.law import Reason
from attncost.measure.laws.sentences import percent, tokens


def within(evidence: Evidence) -> str:
    """Say what the tolerance applies to."""
    of = "rms" if evidence.sampled else "of every value"
    return f"{percent(evidence.margins.tolerance)} {of}"


def growth(evidence: Evidence) -> Reason:
    """Compare how many times the first value the last one is; this needs no fit."""
    lengths, total = evidence.medians.lengths, evidence.terms.total
    formula = float(total[-1] / total[0])
    measured = float(evidence.medians.seconds[-1] / evidence.medians.seconds[0])
    return Reason(
        "growth",
        f"From {lengths[0]:,} to {lengths[-1]:,} tokens the formula grows {formula:.1f} x, "
        f"the time {measured:.1f} x.",
        {"start": lengths[0], "end": lengths[-1], "formula": formula, "measured": measured},
    )


def exponents(evidence: Evidence) -> Reason:
    """Compare the powers of the length, from each length to the next; this needs no fit."""
    formula = [e.theory for e in evidence.exponents]
    measured = [e.measured.value for e in evidence.exponents if e.measured.value is not None]
    theirs, ours = (" ".join(f"{x:.2f}" for x in powers) for powers in (formula, measured))
    return Reason(
        "exponents",
        f"Exponents from length to length: formula {theirs}, time {ours}.",
        {"formula": [*formula], "measured": [*measured]},
    )


def crossover(evidence: Evidence) -> Reason:
    """Compare where attention takes over: in all laws that fit, and by formula.

    Lengths that are too short to place it can still tell that no law has it near the formula's.
    """
    assert evidence.speeds is not None, "no law fits, or the terms are merged"
    theory = evidence.terms.crossing(1.0)
    if theory is None:
        least, greatest = (x if x < inf else None for x in evidence.speeds)
    else:
        least, greatest = (evidence.terms.crossing(speed) for speed in evidence.speeds)
    if theory is not None and greatest is not None and greatest < theory / evidence.margins.speeds:
        text = f"the largest crossover c1/c2 that fits is {tokens(greatest)} tokens"
        text += f", the formula says {tokens(theory)}"
    else:
        text = f"the laws that fit have {found(evidence)}"
    return Reason(
        "crossover" if theory is not None else "speeds",
        f"Within {within(evidence)} {text}.",
        {"formula": theory, "least": least, "greatest": greatest},
    )


def found(evidence: Evidence) -> str:
    """Write the crossovers of the laws that fit, or their speeds if there is no crossover."""
    if evidence.speeds is None:
        return "one speed for attention" if evidence.terms.level else "one speed for all FLOPs"
    least, greatest = evidence.speeds
    theory = evidence.terms.crossing(1.0)
    if theory is None or evidence.needed is not None:
        end = f"to {greatest:.2g} x" if greatest < inf else "x or more"
        return f"attention at {least:.2g} {end} the speed of the rest"
    near, far = (evidence.terms.crossing(speed) for speed in (least, greatest))
    if near is None:
        span = "that never comes"
    elif far is None:
        span = f"from {tokens(near)} tokens on, or never"
    else:
        span = f"from {tokens(near)} to {tokens(far)} tokens"
    return f"a crossover {span} (formula: {tokens(theory)})"


def unplaced(evidence: Evidence) -> str:
    """Say that the lengths are too short to place a crossover, if they are."""
    theory = evidence.terms.crossing(1.0)
    if theory is None or evidence.needed is None:
        return ""
    return (
        f"; too short to place a crossover (formula: {tokens(theory)}, so measure up to "
        f"{evidence.needed:,})"
    )


def misfit(evidence: Evidence) -> Reason:
    """Say that no sum of the terms fits."""
    return Reason(
        "misfit",
        f"No law comes within {within(evidence)}: the best is off by "
        f"{show(evidence.rms, 'percent')} rms.",
        {"rms": evidence.rms, "tolerance": evidence.margins.tolerance},
    )


def beyond(evidence: Evidence) -> Reason | None:
    """Say that more than the FLOPs takes time, if no speed explains how fast time grows.

    The exponent of a sum lies between those of its parts. So where all time grows faster than the
    FLOPs do at any speeds that are near enough, what they leave out grows faster still. Of a
    published table nobody knows what was timed, and nothing is said.
    """
    terms, factor = evidence.terms, evidence.margins.speeds
    slow = terms.linear + factor * terms.core
    last = len(slow) - 1
    for start in range(last) if evidence.sampled else ():
        found = slope(evidence.medians, terms.total, through=(start, last))
        most = slope(evidence.medians, slow, through=(start, last)).theory
        power, low = found.measured.value, found.measured.low
        if power is not None and low is not None and low > max(most, found.theory):
            return Reason(
                "beyond",
                f"From {found.start:,} to {found.end:,} tokens time grows as n^{power:.2f}, FLOPs "
                f"as n^{found.theory:.2f}, or n^{most:.2f} if attention ran {factor:g} x slower "
                f"than the rest: time beyond the FLOPs goes with n^{power:.2f} or faster there. "
                "Softmax and the traffic of n x n weights, which are no FLOPs, go with n².",
                {
                    "start": found.start,
                    "end": found.end,
                    "formula": found.theory,
                    "most": most,
                    "measured": power,
                },
            )
    return None
