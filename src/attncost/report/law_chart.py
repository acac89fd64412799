"""The picture of one law: measured medians, the law through them, and each of its terms."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from attncost.draw.chart import Axis, Chart, Mark, Point, Series
from attncost.measure.laws.law import Law
from attncost.measure.laws.sentences import grows, long_end
from attncost.measure.laws.words import WORDS

# Between two lengths the law bends, and a straight line would not show it.
_BETWEEN: Final = 4


def law_chart(name: str, law: Law) -> Chart:
    """Return the chart of a law; a term that takes no time has no line.

    Args:
        name: What was measured.
        law: Its law.
    """
    measured = tuple(
        Point(p.length, p.seconds.value or p.fitted, p.seconds.low, p.seconds.high)
        for p in law.points
    )
    lengths = list(_lengths(law))
    line = tuple(Point(n, law.predict(n)) for n in lengths)
    return Chart(
        title=f"{name}: {law.verdict.word} with {law.formula}",
        description=(
            "Markers: median time with its interval against tokens. Lines: the law fitted to it, "
            f"and each of its terms. {grows(law)} {long_end(law)}"
        ),
        x=Axis(label="tokens", unit="tokens"),
        y=Axis(label="one call", unit="seconds"),
        series=(
            Series("measured", measured, "markers", "measured"),
            Series("law", line),
            *_terms(law, lengths),
        ),
        marks=tuple(_marks(law)),
    )


def _terms(law: Law, lengths: list[float]) -> Iterator[Series]:
    for term in law.terms:
        each = term.seconds.value or 0.0
        points = [(n, each * law.amount(term, n)) for n in lengths]
        shown = tuple(Point(n, seconds) for n, seconds in points if seconds > 0)
        if len(shown) > 1:
            yield Series(WORDS[term.name].short, shown)


def _lengths(law: Law) -> Iterator[float]:
    for here, there in pairwise(law.points):
        for part in range(_BETWEEN):
            yield here.length * (there.length / here.length) ** (part / _BETWEEN)
    yield law.points[-1].length


def _marks(law: Law) -> Iterator[Mark]:
    first, last = law.points[0].length, law.points[-1].length
    crossing = None if law.crossover is None else law.crossover.value
    if crossing is not None and first <= crossing <= last:
        yield Mark(crossing, "crossover")
    if law.change is not None:
        yield Mark(law.change.start, "another law")
