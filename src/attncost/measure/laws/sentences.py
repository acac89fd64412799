"""What is said of a law: the law in sentences, and the reasons of a verdict with their numbers."""

from math import inf

from attncost.core.units import show
from attncost.measure.laws.evidence import Evidence
from attncost.measure.laws.intervals import slope
from attncost.measure.laws.law import Interval, Law, Reason


def sentences(law: Law) -> tuple[str, ...]:
    """Return the verdict, the law with its numbers, the crossover and where intervals come from."""
    return (law.verdict.sentence, equation(law), *_crossover(law), _origin(law))


def equation(law: Law) -> str:
    """Return the law with its numbers."""
    rates = [("linear(n)", law.linear_rate), ("core(n)", law.core_rate)]
    if law.merged:
        rates = [("FLOPs(n)", law.linear_rate)]
    terms = [show(law.constant.value or 0.0, "seconds")]
    terms += [f"{name} / {show(rate.value, 'rate')}" for name, rate in rates if rate.value]
    idle = "".join(f"; {name} gets no time" for name, rate in rates if not rate.value)
    return f"T(n) = {' + '.join(terms)}{idle}"


def because(law: Law) -> tuple[str, ...]:
    """Return the reasons that the verdict's sentence does not give already."""
    said = {"growth"} if law.verdict.word == "inconsistent" else {"crossover", "speeds", "noise"}
    return tuple(reason.text for reason in law.verdict.reasons if reason.key not in said)


def written(interval: Interval, unit: str) -> str:
    """Write a value and its interval, such as `72 GFLOP/s [68 GFLOP/s, 75 GFLOP/s]`."""
    value, low, high = (
        None if x is None else tokens(x) if unit == "tokens" else show(x, unit)
        for x in (interval.value, interval.low, interval.high)
    )
    return f"{value or 'without end'}" + (f" [{low}, {high or 'without end'}]" if low else "")


def _crossover(law: Law) -> tuple[str, ...]:
    if law.merged:
        return ("Linear part and attention grow alike at these lengths: there is no crossover.",)
    if law.crossover is None or law.theory_crossover is None:
        return ("By formula attention never takes longer than the rest: there is no crossover.",)
    formula = f"by formula at {tokens(law.theory_crossover)}"
    value = law.crossover.value
    if value is None:
        return (f"Attention takes no time that can be told from the rest; {formula} tokens.",)
    first, last = law.points[0].length, law.points[-1].length
    beyond = "" if first <= value <= last else f", outside of the measured {first:,} to {last:,}"
    text = f"Attention takes longer than the rest from {written(law.crossover, 'tokens')} tokens"
    return (f"{text}{beyond}; {formula}.",)


def _origin(law: Law) -> str:
    if law.intervals == "bootstrap":
        return f"Intervals are 95 %, from {law.repeats} or more samples a length."
    rounding = law.margins.rounding
    of = f"{100 * law.margins.tolerance:g} %"
    also = f" and {show(rounding, 'seconds')} of rounding" if rounding else ""
    if law.constant.low is None:
        return f"There are no intervals: no law is within {of}{also} of every value."
    return f"Intervals hold the best law, and every law within {of}{also} of every value."


def tokens(length: float) -> str:
    """Write a length that need not be whole."""
    return f"{length:,.0f}" if length >= 100 else f"{length:.3g}"


def percent(share: float) -> str:
    """Write a limit, which is a round number."""
    return f"{100 * share:g} %"


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
    """Compare where attention takes over: in all laws that fit, and by formula."""
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
        return "one speed for all FLOPs"
    least, greatest = evidence.speeds
    theory = evidence.terms.crossing(1.0)
    if theory is None:
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
