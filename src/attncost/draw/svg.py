"""A chart as one self-contained SVG picture: no script, no style sheet, no request.

It takes its colours from the page around it where that sets them, see `look`. Its title is for
tooltips and screen readers; the page prints it beside the picture, where it can wrap.
"""

from attncost.draw.chart import Chart
from attncost.draw.frame import GAP, HEIGHT, LIFT, WIDTH, Flag, Frame, frame
from attncost.draw.legend import KEY, legend
from attncost.draw.lettering import LINE, SIZE, wrapped
from attncost.draw.look import INK, PAPER, QUIET, RULE
from attncost.draw.markup import element, escaped, position
from attncost.draw.strokes import Stroke, drawn, strokes
from attncost.draw.ticks import heading

# From the middle of a line of text to its foot.
_FOOT = 4.5


def svg(chart: Chart, *, ident: str) -> str:
    """Return the picture of a chart.

    Args:
        chart: What to draw.
        ident: What its ids begin with; unique in the page and without spaces.
    """
    room, series = frame(chart), strokes(chart)
    above, top = _lines(wrapped(heading(chart.y), WIDTH), 0, SIZE)
    top += GAP + room.above
    below, foot = _lines(
        wrapped(heading(chart.x), room.x.end - room.x.start),
        (room.x.start + room.x.end) / 2,
        HEIGHT + GAP + SIZE + LINE + 1,
        anchor="middle",
    )
    key, tall = _key(series, top + foot + GAP)
    # Samples first, then lines, then markers: what is measured lies on top.
    painted = sorted(series, key=lambda stroke: stroke.series.style)
    plot = element(
        "g",
        _grid(room),
        "".join(map(_flag, room.flags)),
        "".join(drawn(chart, stroke, room) for stroke in painted),
        below,
        transform=f"translate(0 {position(top)})",
    )
    return element(
        "svg",
        element("title", escaped(chart.title), id=f"{ident}-title"),
        element("desc", escaped(chart.description), id=f"{ident}-desc"),
        element("g", above, plot, key, fill=QUIET, stroke_linejoin="round"),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {position(top + foot + GAP + tall)}",
        role="img",
        aria_labelledby=f"{ident}-title {ident}-desc",
        font_family="system-ui,sans-serif",
        font_size=SIZE,
    )


def _grid(room: Frame) -> str:
    """Return the lines and labels of the ticks, and the foot of the plot."""
    left, right = position(room.x.start), position(room.x.end)
    lines = "".join(f"M{position(tick.at)} 0V{HEIGHT}" for tick in room.columns)
    lines += "".join(f"M{left} {position(tick.at)}H{right}" for tick in room.rows)
    rows = (element("text", escaped(t.label), y=t.at + _FOOT) for t in room.rows)
    columns = (element("text", escaped(t.label), x=t.at) for t in room.columns)
    return (
        element("path", d=lines, stroke=RULE, fill="none")
        + element("path", d=f"M{left} {HEIGHT}H{right}", stroke=QUIET, fill="none")
        + element(
            "g", *rows, text_anchor="end", transform=f"translate({position(room.x.start - GAP)} 0)"
        )
        + element(
            "g", *columns, text_anchor="middle", transform=f"translate(0 {HEIGHT + GAP + SIZE})"
        )
    )


def _flag(flag: Flag) -> str:
    """Return a mark: a thin line across the plot with its name above."""
    foot = -LIFT - LINE * flag.lane
    at = position(flag.at)
    first = foot - 4 - LINE * (len(flag.lines) - 1)
    text, _ = _lines(flag.lines, flag.middle, first, anchor="middle")
    # A line that belongs to a name farther up passes behind the names below.
    halo = {"stroke": PAPER, "stroke_width": "4", "paint_order": "stroke", "fill": INK}
    return element("path", d=f"M{at} {position(foot)}V{HEIGHT}", stroke=QUIET) + element(
        "g", text, **halo
    )


def _key(series: tuple[Stroke, ...], top: float) -> tuple[str, float]:
    named = [stroke for stroke in series if stroke.series.name]
    entries, tall = legend([stroke.series.name for stroke in named])
    parts = []
    for stroke, entry in zip(named, entries, strict=True):
        y = top + entry.y
        parts += [stroke.sample(entry.x, y, KEY), _lines(entry.lines, entry.text_x, y + _FOOT)[0]]
    return element("g", *parts, fill=INK), tall


def _lines(lines: tuple[str, ...], x: float, y: float, *, anchor: str = "") -> tuple[str, float]:
    """Return lines of text, the first on the foot line `y`, and where the last one ends."""
    texts = [
        element("text", escaped(line), x=x, y=y + LINE * i, text_anchor=anchor)
        for i, line in enumerate(lines)
        if line
    ]
    return "".join(texts), y + LINE * (len(lines) - 1) + _FOOT
