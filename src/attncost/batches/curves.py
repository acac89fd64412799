"""A machine that was measured: two curves through the points of a calibration.

    rest(slots)      straight between two points, and beyond the last as before it
    attend(length)   a power of the length between two points, and its square beyond the last

A square is exact between points, and so is every other power. A sum of powers lies below what is
read there: start and square by 6 % at most if each point has twice the length of the one before.
Times jitter: a point below an earlier one counts as that one, so that more never takes less.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise
from math import exp, isfinite, log
from typing import TypeAlias, final

from attncost.batches.machine import AT_ONCE, Looping
from attncost.core.errors import ShapeError

Points: TypeAlias = Sequence[tuple[int, float]]


@final
class Curves:
    """A `Machine` from measured points."""

    __slots__ = ("_attend", "_rest", "name", "packed")

    def __init__(
        self, name: str, *, rest: Points, attend: Points, packed: Looping = AT_ONCE
    ) -> None:
        """Draw the curves.

        Args:
            name: What people call the model and where it runs.
            rest: Slots of a call, and its seconds without attention. Below the first point the line
                through the first two goes on, down to 0 at most; a single point stands for
                seconds in proportion to slots.
            attend: Tokens of a sequence, and the seconds of its attention in all layers. Below the
                first point the power between the first two goes on, and that of a single one is the
                square.
            packed: What a packed row takes more if its texts are taken apart.

        Raises:
            ShapeError: If a curve has no points, or they are not positive, or not in order; or if
                what packing takes is below 0.
        """
        if not all(isfinite(t) and t >= 0 for t in packed):
            raise ShapeError(
                f"packed must be seconds of a row and of a text, at least 0, got {tuple(packed)}: "
                "leave it out for a kernel that takes all texts at once."
            )
        self.name, self.packed = name, packed
        self._rest = _Lines(_checked("rest", rest))
        # A power is a straight line between logarithms.
        logs = [(log(n), log(seconds)) for n, seconds in _checked("attend", attend)]
        self._attend = _Lines(logs, beyond=2.0)

    def rest(self, slots: int) -> float:
        """Return the seconds of one call on so many slots without its attention.

        >>> rest = ((100, 2.0), (200, 3.0))
        >>> machine = Curves("two points", rest=rest, attend=((100, 1.0), (200, 4.0)))
        >>> machine.rest(50), machine.rest(150), machine.rest(300)
        (1.5, 2.5, 4.0)
        """
        return max(self._rest(slots), 0.0)

    def attend(self, length: int, *, dense: bool = False) -> float:
        """Return the seconds of the attention of one sequence, in all layers.

        There is one curve, of attention as it was timed: what that skips is not known, and a dense
        mask is taken to cost the same. It does where all pairs are multiplied and then masked.

        >>> machine = Curves("two points", rest=((1, 1.0),), attend=((100, 1.0), (200, 4.0)))
        >>> [round(machine.attend(n), 6) for n in (0, 50, 150, 400)]
        [0.0, 0.25, 2.25, 16.0]
        """
        del dense
        return exp(self._attend(log(length))) if length > 0 else 0.0


class _Lines:
    """Straight lines from point to point; the first and the last go on outside of them."""

    __slots__ = ("_at", "_slopes", "_values")

    def __init__(self, points: Sequence[tuple[float, float]], beyond: float | None = None) -> None:
        self._at = [x for x, _ in points]
        self._values = [y for _, y in points]
        between = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(points)]
        # From the origin through a single point.
        last = beyond or (between[-1] if between else points[0][1] / points[0][0])
        # The slope before the first point, between each two, and after the last.
        self._slopes = [between[0] if between else last, *between, last]

    def __call__(self, x: float) -> float:
        after = bisect_right(self._at, x)
        nearest = max(after - 1, 0)
        return self._values[nearest] + self._slopes[after] * (x - self._at[nearest])


def _checked(name: str, points: Points) -> list[tuple[int, float]]:
    sizes, seconds = [size for size, _ in points], [time for _, time in points]
    increasing = all(a < b for a, b in pairwise(sizes))
    if not (points and sizes[0] > 0 and increasing and all(isfinite(t) and t > 0 for t in seconds)):
        raise ShapeError(
            f"{name} must be one or more points of a size and its seconds, both above 0 and sizes "
            f"increasing, as ((128, 0.02), (256, 0.05)), got {_shown(points)}: leave out what took "
            "no time."
        )
    return list(zip(sizes, accumulate(seconds, max), strict=True))


def _shown(points: Points) -> str:
    return ", ".join(f"({size}, {time:g})" for size, time in points[:6]) or "none"
