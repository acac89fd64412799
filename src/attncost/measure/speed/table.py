"""What one family of operations takes on a machine: a grid of measured rates, read between knots.

    seconds = start + work * rate(point)

The logarithm of the rate is linear in the logarithm of each size between neighbouring knots, and
stays what it is beyond the last: so a step in a kernel's efficiency needs a knot on either side.
"""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import exp, log, sqrt
from typing import Final, TypeAlias, final

from attncost.core.errors import ShapeError

Point: TypeAlias = tuple[float, ...]
Knots: TypeAlias = tuple[tuple[int, ...], ...]
_LEAST_RATE: Final = 1e-15


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The measured times of a family.

    Attributes:
        start: Seconds of a call that has next to nothing to do, one after the other.
        cold: The same after the nearest caches were filled with something else.
        knots: Sizes that were measured, increasing, for each axis of a point.
        rates: Seconds for a unit of work at every point of the grid, the last axis running fastest.
        spread: How far a repeated measurement is off, relative; one standard deviation.
    """

    start: float
    cold: float
    knots: Knots
    rates: tuple[float, ...]
    spread: float

    def __post_init__(self) -> None:
        size = 1
        for axis in self.knots:
            size *= len(axis)
        if size != len(self.rates):
            raise ShapeError(
                f"a table of {size} points needs as many rates, got {len(self.rates)}."
            )

    def rate(self, point: Point) -> float:
        """Return the seconds that a unit of work takes at a point between the knots."""
        return exp(self._log_rate(point, None))

    @property
    def error(self) -> float:
        """The relative error of reading between knots; one standard deviation.

        Each inner knot is read from its neighbours as if it had not been measured. They are twice
        as far apart as those that a point is read from, so that a smooth rate is off a quarter as
        much, and one with a step half as much; half is taken.
        """
        found = [
            (self._log_rate(point, axis) - self._log_rate(point, None)) ** 2
            for axis, knots in enumerate(self.knots)
            for inner in knots[1:-1]
            for point in self._points({axis: (inner,)})
        ]
        return sqrt(sum(found) / len(found)) / 2 if found else 0.0

    def _points(self, fixed: dict[int, tuple[int, ...]]) -> Iterator[Point]:
        return product(*(fixed.get(axis, knots) for axis, knots in enumerate(self.knots)))

    def _log_rate(self, point: Point, without: int | None) -> float:
        """Read a rate; on one axis as if a knot at the point had not been there."""
        corners = [
            _between(knots, at, skips=axis == without)
            for axis, (knots, at) in enumerate(zip(self.knots, point, strict=True))
        ]
        total = 0.0
        for chosen in product(*corners):
            place, weight = 0, 1.0
            for (index, share), knots in zip(chosen, self.knots, strict=True):
                place, weight = place * len(knots) + index, weight * share
            total += weight * log(max(self.rates[place], _LEAST_RATE))
        return total


def _between(knots: tuple[int, ...], at: float, *, skips: bool) -> tuple[tuple[int, float], ...]:
    """Return the knots around a size, by number, with their weights."""
    right = bisect_right(knots, at)
    if right == 0:
        return ((0, 1.0),)
    left = right - 1
    if skips:
        left = right - 2
    elif right == len(knots) or knots[left] == at:
        return ((left, 1.0),)
    low, high = knots[left], knots[right]
    share = log(at / low) / log(high / low)
    return ((left, 1 - share), (right, share))
