"""A law in sentences, the verdict first; what the command and a report both say."""

from attncost.core.units import show
from attncost.measure.law import Interval, Law
from attncost.measure.reasons import tokens


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
        return f"Intervals are 95 %, from resampling {law.repeats} or more samples a length."
    rounding = law.margins.rounding
    of = f"{100 * law.margins.tolerance:g} %"
    also = f" and {show(rounding, 'seconds')} of rounding" if rounding else ""
    if law.constant.low is None:
        return f"There are no intervals: no law is within {of}{also} of every value."
    return f"Intervals hold the best law, and every law within {of}{also} of every value."
