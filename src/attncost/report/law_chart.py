"""The picture of one law: measured medians, the law through them, each of its terms, and theory.

Theory knows FLOPs and no machine, so its line is FLOPs at one speed: that of the longest sequence,
where both meet. Where it lies below the medians, something else than FLOPs takes time.
"""

from collections.abc import Iterator
from itertools import pairwise
from math import log
from typing import Final

from attncost.draw.chart import Axis, Chart, Mark, Point, Series
from attncost.measure.laws.law import Law
from attncost.measure.laws.sentences import grows, long_end
from attncost.measure.laws.words import WORDS
from attncost.report.document import Column, Figure, Table

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
            "each of its terms, and what FLOPs would take at the speed of the longest. "
            f"{grows(law)} {long_end(law)}"
        ),
        x=Axis(label="tokens", unit="tokens"),
        y=Axis(label="one call", unit="seconds"),
        series=(
            Series("measured", measured, "markers", "measured"),
            Series("law", line),
            Series("FLOPs at one speed", tuple(Point(n, _theory(law, n)) for n in lengths)),
            *_terms(law, lengths),
        ),
        marks=tuple(_marks(law)),
    )


def law_figure(name: str, law: Law, *, command: str) -> Figure:
    """Return the chart of a law over the table of what it shows.

    Args:
        name: What was measured.
        law: Its law.
        command: What reproduces it.
    """
    columns = ("median", "low", "high", "law", "FLOPs at one speed")
    table = Table(
        title=f"The law of {name}, length by length",
        columns=(
            Column("tokens", "tokens"),
            *(Column(column, "seconds") for column in columns),
            Column("error of the law", "percent"),
        ),
        rows=tuple(
            (
                point.length,
                point.seconds.value,
                point.seconds.low,
                point.seconds.high,
                point.fitted,
                _theory(law, point.length),
                point.error,
            )
            for point in law.points
        ),
        note=(
            "Low and high: the 95 % interval of the median. FLOPs at one speed: theory, at the "
            "FLOPs a second of the longest sequence."
        ),
        command=command,
    )
    return Figure(law_chart(name, law), table)


def _theory(law: Law, length: float) -> float:
    """Return what the FLOPs of a length take at the speed of the longest measured."""
    *_, last = law.points
    seconds = (last.seconds.value or last.fitted) / (last.linear + last.core)
    return seconds * _flops(law, length)


def _flops(law: Law, length: float) -> float:
    """Return FLOPs by formula, between two lengths on a line of doubly logarithmic paper."""
    for here, there in pairwise(law.points):
        if length <= there.length:
            start, end = here.linear + here.core, there.linear + there.core
            share = log(length / here.length) / log(there.length / here.length)
            return float(start * (end / start) ** share)
    last = law.points[-1]
    return float(last.linear + last.core)


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
