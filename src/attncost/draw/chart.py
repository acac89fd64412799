"""What a chart shows, apart from how it is drawn."""

import math
from dataclasses import dataclass
from typing import Final, Literal, final

from attncost.core.errors import ShapeError
from attncost.core.units import UNITS

# As many as can be told apart by colour, dash and marker at once.
MOST_SERIES: Final = 8


@final
@dataclass(frozen=True, slots=True)
class Point:
    """One value of a series, with an interval around `y` where it was measured."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@final
@dataclass(frozen=True, slots=True)
class Series:
    """Points that belong together.

    Attributes:
        name: What the legend calls it; empty for a series that only accompanies its group.
        points: In the order of x.
        style: A line for a formula, markers with intervals for measurements.
        group: Series of one group share a colour, as a law and its measurements do; if left out,
            the series stands alone.
    """

    name: str
    points: tuple[Point, ...]
    style: Literal["line", "markers"] = "line"
    group: str = ""


@final
@dataclass(frozen=True, slots=True)
class Mark:
    """A vertical line at an x that the text speaks of, such as a crossover."""

    x: float
    label: str


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Axis:
    """One axis.

    Attributes:
        label: What it counts.
        unit: One of `attncost.core.units.UNITS`; says how ticks are written.
        log: Whether equal steps are equal factors.
    """

    label: str
    unit: str = "count"
    log: bool = True

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ShapeError(f"unit must be one of {', '.join(UNITS)}, got {self.unit!r}.")


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """Lines and markers over one pair of axes.

    Attributes:
        title: A sentence that says what to see.
        description: The same for who cannot see it.
        x: The horizontal axis.
        y: The vertical axis.
        series: At least one with a name, at most `MOST_SERIES` of them.
        marks: Vertical lines.
    """

    title: str
    description: str
    x: Axis
    y: Axis
    series: tuple[Series, ...]
    marks: tuple[Mark, ...] = ()

    def __post_init__(self) -> None:
        named = [series for series in self.series if series.name]
        if not 1 <= len(named) <= MOST_SERIES:
            raise ShapeError(f"a chart holds 1 to {MOST_SERIES} series, got {len(named)}.")
        groups = {series.group for series in named}
        for series in self.series:
            if not series.name and series.group not in groups:
                raise ShapeError(f"a series without a name needs a group, got {series.group!r}.")
        for series in self.series:
            _check(f"series {series.name!r}", self.x, _xs(series))
            _check(f"series {series.name!r}", self.y, _ys(series))
        for mark in self.marks:
            _check(f"mark {mark.label!r}", self.x, [mark.x])


def _check(what: str, axis: Axis, values: list[float]) -> None:
    """Refuse values that have no place on an axis.

    Raises:
        ShapeError: If there are none, one is not finite, or not positive on a logarithmic axis.
    """
    if not values or not all(map(math.isfinite, values)) or (axis.log and min(values) <= 0):
        least = "positive on the logarithmic axis" if axis.log else "finite on the axis"
        raise ShapeError(f"{what} needs points, {least} {axis.label!r}, got {values}.")


def _xs(series: Series) -> list[float]:
    return [point.x for point in series.points]


def _ys(series: Series) -> list[float]:
    return [y for p in series.points for y in (p.low, p.y, p.high) if y is not None]
