"""The series of a chart: lines of formulas, markers and intervals of measurements."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from attncost.core.units import show
from attncost.draw.chart import Chart, Point, Series
from attncost.draw.frame import Frame
from attncost.draw.look import DASHES, SHAPES, colour
from attncost.draw.markup import element, escaped, position


@final
@dataclass(frozen=True, slots=True)
class Stroke:
    """How one series looks.

    Attributes:
        series: What it shows.
        slot: Its colour, which a group shares.
        rank: Which dash or shape it has.
        thin: Whether it accompanies a series of its kind, whose dash or shape it takes.
    """

    series: Series
    slot: int
    rank: int
    thin: bool = False

    def line(self, points: Iterable[tuple[float, float]]) -> str:
        """Return a line through these positions in the dash of the series."""
        where = " ".join(f"{position(x)},{position(y)}" for x, y in points)
        return element("polyline", points=where, stroke_dasharray=DASHES[self.rank])

    def marker(self, x: float, y: float, *inner: str) -> str:
        """Return a marker in the shape of the series."""
        solid = "" if self.rank in (5, 6, 7) else colour(self.slot)
        path = f"M{position(x)} {position(y)}{SHAPES[self.rank]}"
        return element("path", *inner, d=path, fill=solid)

    def sample(self, x: float, y: float, wide: float) -> str:
        """Return a piece of the series for the legend."""
        if self.series.style == "line":
            return self.coloured(self.line([(x, y), (x + wide, y)]))
        return self.coloured(self.marker(x + wide / 2, y))

    def coloured(self, *inner: str) -> str:
        """Return parts of the series in its colour."""
        thick = "1" if self.thin else "2" if self.series.style == "line" else "1.4"
        return element("g", *inner, stroke=colour(self.slot), stroke_width=thick, fill="none")


def strokes(chart: Chart) -> tuple[Stroke, ...]:
    """Give each series its colour, and its dash or shape among those of the same style.

    What only accompanies a series of the same group and style looks like that one, but thinner.
    """
    groups = list(dict.fromkeys(series.group or series.name for series in chart.series))
    seen = {"line": 0, "markers": 0}
    ranks: dict[tuple[str, str], int] = {}
    given = []
    for series in chart.series:
        group = series.group or series.name
        thin = not series.name and (series.style, group) in ranks
        if not thin:
            ranks[series.style, group] = seen[series.style]
            seen[series.style] += 1
        given.append(Stroke(series, groups.index(group), ranks[series.style, group], thin))
    return tuple(given)


def drawn(chart: Chart, stroke: Stroke, room: Frame) -> str:
    """Return one series in its place."""
    points = stroke.series.points
    if stroke.series.style == "markers":
        bars = "".join(_interval(point, room) for point in points)
        bars = element("path", d=bars) if bars else ""
        return stroke.coloured(bars, *(_measured(chart, stroke, p, room) for p in points))
    places = [(room.x(point.x), room.y(point.y)) for point in points]
    title = element("title", escaped(stroke.series.name or stroke.series.group))
    if len(places) == 1:
        return stroke.coloured(title, stroke.marker(*places[0]))
    return stroke.coloured(title, stroke.line(places))


def _measured(chart: Chart, stroke: Stroke, point: Point, room: Frame) -> str:
    x, y = show(point.x, chart.x.unit), show(point.y, chart.y.unit)
    title = f"{stroke.series.name}: {chart.x.label} {x}, {y}"
    if _spans(point):
        low, high = (show(end, chart.y.unit) for end in _ends(point))
        title = f"{title} ({low} to {high})"
    return stroke.marker(room.x(point.x), room.y(point.y), element("title", escaped(title)))


def _interval(point: Point, room: Frame) -> str:
    if not _spans(point):
        return ""
    x = room.x(point.x)
    low, high = (position(room.y(end)) for end in _ends(point))
    left = position(x - 3)
    return f"M{position(x)} {low}V{high}M{left} {low}h6M{left} {high}h6"


def _spans(point: Point) -> bool:
    return point.low is not None or point.high is not None


def _ends(point: Point) -> tuple[float, float]:
    low = point.y if point.low is None else point.low
    return low, point.y if point.high is None else point.high
