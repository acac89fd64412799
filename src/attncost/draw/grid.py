"""Which of n x m pairs are read, as a picture: queries run down, keys to the right.

A cell stands for one pair, or in a large picture for a block of them; its colour is as full as the
share of its pairs that is read.
"""

from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final, final

from attncost.core.errors import ShapeError
from attncost.core.units import show
from attncost.draw.lettering import LINE, SIZE, width
from attncost.draw.look import QUIET, RULE, colour
from attncost.draw.markup import element, escaped, position

# The longer side of the plot, and the largest cell.
_SIDE: Final = 256
_CELL: Final = 24
_EDGE: Final = 1
_ALL_OR_NOTHING: Final = "·■"
_SHADES: Final = "·░▒▓█"
# A cell takes one of so many shades, and the faintest can still be seen.
_TONES: Final = 12
_FAINTEST: Final = 0.15


@final
@dataclass(frozen=True, slots=True)
class Grid:
    """What a picture shows.

    Attributes:
        queries: How many there are, at least as many as rows.
        keys: How many there are, at least as many as columns.
        shares: For each row its cells, from 0 (nothing is read) to 1 (everything).
    """

    queries: int
    keys: int
    shares: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        columns = {len(row) for row in self.shares}
        if not self.shares or len(columns) != 1 or columns == {0}:
            raise ShapeError(
                f"a grid needs rows of as many cells, at least one, got {sorted(columns)}."
            )
        for row in self.shares:
            for share in row:
                if not 0 <= share <= 1:
                    raise ShapeError(f"a share must lie between 0 and 1, got {share}.")

    @property
    def share(self) -> float:
        """Return the share of all pairs that are read."""
        rows = _sizes(self.queries, len(self.shares))
        columns = _sizes(self.keys, len(self.shares[0]))
        read = sum(
            tall * wide * share
            for tall, row in zip(rows, self.shares, strict=True)
            for wide, share in zip(columns, row, strict=True)
        )
        return read / (self.queries * self.keys)


def edges(length: int, cells: int) -> list[int]:
    """Return where each cell begins, and where the last one ends.

    >>> edges(10, 4)
    [0, 2, 5, 7, 10]
    """
    return [length * cell // cells for cell in range(cells + 1)]


def text(grid: Grid) -> str:
    """Draw a grid for a terminal, one line a row and one character a cell.

    >>> print(text(Grid(2, 3, ((1, 1, 0), (1, 1, 1)))))
    ■■·
    ■■■
    >>> print(text(Grid(4, 8, ((0, 0.1, 0.5, 0.9, 1),))))
    ·░▒▓█
    """
    pairs = (len(grid.shares), len(grid.shares[0])) == (grid.queries, grid.keys)
    draw = (lambda share: _ALL_OR_NOTHING[round(share)]) if pairs else _shade
    return "\n".join("".join(map(draw, row)) for row in grid.shares)


def svg(grid: Grid, *, title: str) -> str:
    """Return a self-contained picture; it has no ids, so that a page may hold many.

    Args:
        grid: What to draw.
        title: What it is, for tooltips and screen readers.
    """
    rows, columns = len(grid.shares), len(grid.shares[0])
    cell = min(_CELL, _SIDE / max(rows, columns))
    across, down = (f"{count:,} {name}" for count, name in _axes(grid))
    wide, tall = columns * cell, rows * cell
    # A plot narrower than its label leaves room for it.
    room_x, room_y = max(wide, width(across)), max(tall, width(down))
    plot = element(
        "g",
        *_cells(grid),
        # Lines as thick as a cell are half as long as rectangles.
        transform=f"translate(0 {position(cell / 2)}) scale({cell:.4g})",
        stroke=colour(0),
        fill="none",
    )
    frame = element(
        "path", d=f"M0 0H{position(wide)}V{position(tall)}H0z", stroke=RULE, fill="none"
    )
    return element(
        "svg",
        element("title", escaped(title)),
        element("desc", escaped(_described(grid))),
        element("text", escaped(across), x=LINE, y=SIZE),
        element(
            "text",
            escaped(down),
            text_anchor="end",
            transform=f"translate({SIZE} {LINE}) rotate(-90)",
        ),
        element("g", plot, frame, transform=f"translate({LINE} {LINE})"),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {position(LINE + room_x + _EDGE)} {position(LINE + room_y + _EDGE)}",
        role="img",
        aria_label=title,
        font_family="system-ui,sans-serif",
        font_size=SIZE,
        fill=QUIET,
    )


def _axes(grid: Grid) -> tuple[tuple[int, str], tuple[int, str]]:
    keys = "key" if grid.keys == 1 else "keys"
    return (grid.keys, keys), (grid.queries, "query" if grid.queries == 1 else "queries")


def _described(grid: Grid) -> str:
    return (
        "Queries run down, keys to the right; the fuller the colour of a cell, the more of its "
        f"pairs are read: {show(grid.share, 'percent')} of all."
    )


def _sizes(length: int, cells: int) -> list[int]:
    ends = edges(length, cells)
    return [end - start for start, end in pairwise(ends)]


def _shade(share: float) -> str:
    """Return a shade; the first and the last one are kept for exactly nothing and everything."""
    if share in (0, 1):
        return _SHADES[-round(share)]
    between = len(_SHADES) - 2
    return _SHADES[1 + min(int(share * between), between - 1)]


def _cells(grid: Grid) -> list[str]:
    """Return one path for each tone, in units of a cell; neighbours in a row are one line."""
    lines: dict[int, list[str]] = {}
    for y, row in enumerate(grid.shares):
        x = 0
        for tone, cells in groupby(row, _tone):
            length = len(list(cells))
            if tone:
                lines.setdefault(tone, []).append(f"M{x} {y}h{length}")
            x += length
    return [
        element("path", d="".join(line), stroke_opacity=_opacity(tone))
        for tone, line in sorted(lines.items())
    ]


def _tone(share: float) -> int:
    return min(_TONES, max(1, round(_TONES * share))) if share else 0


def _opacity(tone: int) -> str:
    if tone == _TONES:
        return ""
    return f"{_FAINTEST + (1 - _FAINTEST) * (tone - 1) / (_TONES - 1):.2f}"
