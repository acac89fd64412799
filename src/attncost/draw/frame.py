"""The room of a chart: how large the plot is, where its ticks stand and where marks are named.

Positions are units of the picture, with the plot from 0 down to `HEIGHT`; what stands above it is
negative. The picture is narrow on purpose: a telephone shows it at three quarters of its size.
"""

from dataclasses import dataclass, replace
from itertools import product
from typing import Final, final

from attncost.draw.chart import Axis, Chart, Mark
from attncost.draw.lettering import LINE, width, wrapped
from attncost.draw.scale import Scale, domain
from attncost.draw.ticks import Tick, ticks

WIDTH: Final = 420
HEIGHT: Final = 210
# Between the plot and the lowest name of a mark, which the label of a tick may stand beside.
LIFT: Final = 7
# Between a tick's label and the plot, and between two labels of one axis.
GAP: Final = 8
_LABELS_APART: Final = 14
# So many marks are named in every possible way, 3 ** 5 of them; the rest stand over their lines.
_TRIED: Final = 5


@final
@dataclass(frozen=True, slots=True)
class Flag:
    """A mark with its name above the plot.

    Attributes:
        at: The position of its line.
        lines: Its label, broken to fit.
        half: Half the width of the label.
        middle: The middle of the label.
        lane: How many lines of other labels lie between it and the plot.
    """

    at: float
    lines: tuple[str, ...]
    half: float
    middle: float
    lane: int = 0

    def near(self, at: float) -> bool:
        """Say whether a vertical line would touch the label."""
        return abs(at - self.middle) < self.half + 2


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """Where everything but the series stands."""

    x: Scale
    y: Scale
    columns: tuple[Tick, ...]
    rows: tuple[Tick, ...]
    flags: tuple[Flag, ...]

    @property
    def above(self) -> int:
        """Return the room that the flags take."""
        lanes = max((flag.lane + len(flag.lines) for flag in self.flags), default=0)
        return LINE * lanes + LIFT * (lanes > 0)


def frame(chart: Chart) -> Frame:
    """Lay out a chart."""
    y = _scale(chart.y, _ys(chart), (HEIGHT, 0), zero=True)
    rows = ticks(y, chart.y, lambda _: 1.3 * LINE)
    xs = [p.x for s in chart.series for p in s.points] + [mark.x for mark in chart.marks]
    left = max((width(tick.label) for tick in rows), default=0) + GAP

    def columns_from(right: float) -> tuple[Scale, tuple[Tick, ...]]:
        x = _scale(chart.x, xs, (left, right), zero=False)
        return x, ticks(x, chart.x, lambda text: width(text) + _LABELS_APART)

    # The last label may stand out to the right, so the plot ends where that still fits.
    x, columns = columns_from(WIDTH - 4)
    spill = max((t.at + width(t.label) / 2 - WIDTH for t in columns), default=0)
    x, columns = columns_from(WIDTH - 4 - max(spill, 0))
    return Frame(x=x, y=y, columns=columns, rows=rows, flags=_flags(chart.marks, x))


def _scale(axis: Axis, values: list[float], ends: tuple[float, float], *, zero: bool) -> Scale:
    low, high = domain(values, log=axis.log, zero=zero)
    return Scale(low=low, high=high, start=ends[0], end=ends[1], log=axis.log)


def _ys(chart: Chart) -> list[float]:
    points = [point for series in chart.series for point in series.points]
    return [y for p in points for y in (p.low, p.y, p.high) if y is not None]


def _flags(marks: tuple[Mark, ...], x: Scale) -> tuple[Flag, ...]:
    """Name each mark above its line so that few lines run through a name and few names stack.

    A name stands over its line, or to the left or right of its top; all ways are tried.
    """
    flags = [_flag(mark, x) for mark in sorted(marks, key=lambda mark: mark.x)]
    leanings = product((0, -1, 1), repeat=min(len(flags), _TRIED))
    ways = (
        _stacked(direction, leans + (0,) * (len(flags) - _TRIED))
        for leans in leanings
        for direction in (flags, flags[::-1])
    )
    return min(ways, key=_untidiness)


def _flag(mark: Mark, x: Scale) -> Flag:
    lines, at = wrapped(mark.label, WIDTH), x(mark.x)
    return Flag(at, lines, max(map(width, lines)) / 2, at)


def _stacked(flags: list[Flag], leans: tuple[int, ...]) -> tuple[Flag, ...]:
    """Put each name into the lowest lane where it meets no other."""
    placed: list[Flag] = []
    for flag, lean in zip(flags, leans, strict=True):
        middle = min(max(flag.at + lean * flag.half, flag.half), WIDTH - flag.half)
        lane = 0
        while any(_meet(replace(flag, middle=middle, lane=lane), other) for other in placed):
            lane += 1
        placed.append(replace(flag, middle=middle, lane=lane))
    return tuple(placed)


def _untidiness(flags: tuple[Flag, ...]) -> tuple[int, int, float]:
    crossed = sum(a.lane < b.lane and a.near(b.at) for a in flags for b in flags)
    return crossed, sum(flag.lane for flag in flags), sum(abs(f.at - f.middle) for f in flags)


def _meet(a: Flag, b: Flag) -> bool:
    beside = abs(a.middle - b.middle) >= a.half + b.half + GAP
    above = a.lane >= b.lane + len(b.lines) or b.lane >= a.lane + len(a.lines)
    return not (beside or above)
