"""What stands along one side of the cells: how many there are, and names or round places."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, count, takewhile
from math import ceil
from typing import Final, final

from attncost.core.counts import ceil_div
from attncost.draw.lettering import LINE, SIZE, width
from attncost.view.maps.pictures.letters import ADVANCE

# The longer side of the cells, the largest cell, and the most room for a name.
_SIDE: Final = 512
_CELL: Final = 24
_NAME: Final = 150
# Between two places.
_APART: Final = 12
# How tokenizers write the space before a word, and how it is shown.
_MARKS: Final = ("\u0120", "\u2581")
_SPACE: Final = "\u2423"
_SEEN: Final = str.maketrans({" ": _SPACE, "\n": "\u21b5", "\t": "\u21e5"})
_CUT: Final = "\u2026"


@final
@dataclass(frozen=True, slots=True)
class Label:
    """What a cell or a place is called, and how far along its middle lies."""

    at: int
    text: str
    marked: bool = False


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Axis:
    """One side of the cells.

    Attributes:
        cells: How many there are.
        cell: Units along each.
        length: Of what they stand for, at least as many.
        what: What that is, one and many.
        names: Of each, or none.
        marked: One of them, which has a label in any case.
    """

    cells: int
    cell: int
    length: int
    what: tuple[str, str]
    names: Sequence[str] = ()
    marked: int | None = None

    @property
    def room(self) -> int:
        """Return how long all cells are together."""
        return self.cells * self.cell

    @property
    def block(self) -> int:
        """Return how many a cell stands for."""
        return ceil_div(self.length, self.cells)

    @property
    def named(self) -> bool:
        """Return whether there is room for all names."""
        return bool(self.names) and self.cells == self.length and self.cell >= SIZE

    def title(self) -> str:
        """Return how many there are, in words."""
        return f"{self.length:,} {self.what[self.length != 1]}"

    def labels(self) -> list[Label]:
        """Return names if there is room for them, otherwise round places and the marked one."""
        if self.named:
            return [
                Label(self._middle(i), short(name), i == self.marked)
                for i, name in enumerate(self.names)
            ]
        marked = [] if self.marked is None else [self._place(self.marked, marked=True)]
        free = [
            label
            for label in map(self._place, range(0, self.length, self._step()))
            if all(abs(label.at - other.at) >= LINE for other in marked)
        ]
        return free + marked

    def _place(self, place: int, *, marked: bool = False) -> Label:
        return Label(self._middle(place), f"{place:,}", marked)

    def _middle(self, place: int) -> int:
        return int((place + 0.5) / self.block * self.cell)

    def _step(self) -> int:
        apart = room(f"{self.length:,}") + _APART
        least = ceil_div(apart * self.block, self.cell)
        steps: Iterator[int] = (f * 10**p for p in count() for f in (1, 2, 5))
        return next(step for step in steps if step >= least)


def sizes(rows: int, columns: int) -> tuple[int, int]:
    """Return how tall and wide cells are: square, unless one side has many more of them.

    >>> sizes(128, 128), sizes(1, 31)
    ((4, 4), (24, 16))
    """
    most = max(rows, columns)
    tall, wide = (
        min(_CELL, _SIDE // (most if 2 * some > most else some)) for some in (rows, columns)
    )
    return tall, wide


def room(text: str) -> int:
    """Return the most units that a text takes, in vectors or in pixels."""
    return ceil(max(width(text), ADVANCE * len(text)))


def short(name: str) -> str:
    """Return a name that fits, with spaces that one can see."""
    # No more letters than this can fit, however long the name is.
    shown = name[: _NAME // ADVANCE + 1].translate(_SEEN)
    if shown[:1] in _MARKS:
        shown = _SPACE + shown[1:]
    fit = sum(1 for _ in takewhile(lambda end: end <= _NAME, _ends(shown)))
    if fit == len(shown):
        return shown
    left = _NAME - room(_CUT)
    return shown[: sum(1 for _ in takewhile(lambda end: end <= left, _ends(shown)))] + _CUT


def _ends(text: str) -> Iterator[float]:
    return accumulate(max(width(letter), ADVANCE) for letter in text)
