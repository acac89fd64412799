"""What is said of a law: its verdict, its numbers and what they mean, a sentence each."""

from attncost.core.units import show
from attncost.measure.laws.classes import FEWEST_FOR_A_CLASS
from attncost.measure.laws.law import Law
from attncost.measure.laws.results import Growth, Interval, Term
from attncost.measure.laws.separable import COEFFICIENTS
from attncost.measure.laws.terms import PLACES
from attncost.measure.laws.words import FURTHER, WORDS, listed


def sentences(law: Law) -> tuple[str, ...]:
    """Return the verdict, the law with its numbers, and everything else that is said of it."""
    return (
        law.verdict.sentence,
        equation(law),
        *shares(law),
        grows(law),
        long_end(law),
        *_crossover(law),
        *changes(law),
        *(one.runs for one in law.alike),
        _origin(law),
    )


def equation(law: Law) -> str:
    """Return the law with its numbers."""
    constant, *others = law.terms
    terms = [show(constant.seconds.value or 0.0, "seconds")]
    terms += [_term(term) for term in others if term.rate.value]
    # That a further term takes none is as it should be: nothing is said of it then.
    idle = "".join(
        f"; {WORDS[term.name].letters} gets no time"
        for term in others
        if not term.rate.value and term.name not in FURTHER
    )
    return f"T(n) = {' + '.join(terms)}{idle}"


def shares(law: Law) -> tuple[str, ...]:
    """Say how much of the time further terms take, such as page faults, if they surely take any."""
    longest = law.points[-1].length
    return tuple(
        f"{WORDS[term.name].begins} take {show(term.shares[-1], 'percent')} of the time at "
        f"{longest:,} tokens, {written(term.seconds, 'seconds')} each."
        for term in law.terms
        if term.name in FURTHER and term.takes_time
    )


def grows(law: Law) -> str:
    """Name the class of growth, or those that the data cannot tell apart."""
    growth = law.growth
    if growth.name is None:
        return (
            f"{len(law.points)} lengths are too few to name a class of growth: it takes "
            f"{FEWEST_FOR_A_CLASS} or more."
        )
    if growth.undecided:
        classes = listed((growth.name, *growth.undecided), last="or")
        return f"Time grows as {classes}, which these lengths cannot tell apart."
    grows = "does not grow" if growth.name == "1" else f"grows as {growth.name}"
    if growth.gap is None:
        return f"Time {grows}."
    return f"Time {grows}, AICc {growth.gap:.0f} less than any {_but(growth)}."


def long_end(law: Law) -> str:
    """Compare the exponents of time and FLOPs where lengths are long."""
    end = law.long_end
    return (
        f"From {end.start:,} to {end.end:,} tokens time grows as n^{end.measured.value:.2f} "
        f"[{end.measured.low:.2f}, {end.measured.high:.2f}], FLOPs as n^{end.theory:.2f}."
    )


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


def _but(growth: Growth) -> str:
    """Leave out the classes whose further terms take no time, which no criterion tells apart."""
    if not growth.idle:
        return "other class"
    own = str(growth.name).removesuffix("·w")
    terms = dict.fromkeys(part for name in growth.idle for part in name.split(" + "))
    more = [part for part in terms if part.removesuffix("·w") != own]
    takes = "take" if len(more) > 1 else "takes"
    return f"class but {listed(growth.idle)}, whose {listed(more)} {takes} no time that matters"


def _term(term: Term) -> str:
    name, rate, seconds = (
        WORDS[term.name].letters,
        term.rate.value or 0.0,
        term.seconds.value or 0.0,
    )
    if term.name == "faults":
        return f"{name} x {show(seconds, 'seconds')}"
    if term.name == "bytes":
        return f"{name} / {show(rate, 'bytes')}/s"
    return f"{name} / {show(rate, 'rate')}"


def _crossover(law: Law) -> tuple[str, ...]:
    if len(law.points) < COEFFICIENTS:
        return ("Two lengths place no crossover: measure more of them.",)
    if law.merged:
        how = "Linear part and attention grow alike"
        if law.term("core") is not None:
            how = "The linear part is the same"
        elif not law.points[0].linear:
            how = "There is no linear part"
        return (f"{how} at these lengths: there is no crossover.",)
    if law.theory_crossover is None:
        return ("By formula attention never takes longer than the rest: there is no crossover.",)
    formula, last = f"by formula at {tokens(law.theory_crossover)}", law.points[-1].length
    if law.needed is not None:
        return (
            f"Too short to place a crossover: it is {formula} tokens, and {last:,} are less than "
            f"{PLACES} x that; measure up to {law.needed:,}.",
        )
    if law.crossover is None or law.crossover.value is None:
        return (f"Attention takes no time that can be told from the rest; {formula} tokens.",)
    first, value = law.points[0].length, law.crossover.value
    beyond = "" if first <= value <= last else f", outside of the measured {first:,} to {last:,}"
    text = f"Attention takes longer than the rest from {written(law.crossover, 'tokens')} tokens"
    return (f"{text}{beyond}; {formula}.",)


def changes(law: Law) -> tuple[str, ...]:
    """Say from where on another law holds, if one does."""
    change = law.change
    if change is None:
        return ()
    of = "" if change.term in ("all", "constant") else " for the same amount"
    times = "begins to take time" if change.factor is None else f"takes {change.factor:.2f} x"
    as_long = "" if change.factor is None else f" as long{of}"
    more = "more" if change.effect > 0 else "less"
    return (
        f"Another law holds from {change.start:,} tokens on (between {change.before:,} and "
        f"{change.start:,}): {WORDS[change.term].begins.lower()} {times}{as_long}, which makes the "
        f"time {show(abs(change.effect), 'percent')} {more} at {change.at:,} tokens.",
    )


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
