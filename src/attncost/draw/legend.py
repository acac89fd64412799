"""The key of a chart: one sample and one name for each series, in as few rows as fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from attncost.draw.frame import WIDTH
from attncost.draw.lettering import LINE, width, wrapped

KEY: Final = 26
_GAP: Final = 6
_APART: Final = 16
_ROW: Final = LINE + 2


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """A name, broken to fit, and where its sample begins; the sample is `KEY` wide.

    Attributes:
        lines: The name.
        x: The left end of the sample.
        y: Its middle, and that of the first line of the name.
    """

    lines: tuple[str, ...]
    x: float
    y: float

    @property
    def text_x(self) -> float:
        """Return where the name begins."""
        return self.x + KEY + _GAP


def legend(names: Sequence[str]) -> tuple[tuple[Entry, ...], float]:
    """Return the entries in the order of the names, and the height of them all."""
    for across in (4, 3, 2):
        columns = [names[i::across] for i in range(min(across, len(names)))]
        widths = [KEY + _GAP + max(map(width, column)) for column in columns]
        if sum(widths) + _APART * (len(widths) - 1) <= WIDTH:
            starts = [sum(widths[:i]) + _APART * i for i in range(len(widths))]
            return _rows(names, starts)
    return _rows(names, [0.0])


def _rows(names: Sequence[str], starts: list[float]) -> tuple[tuple[Entry, ...], float]:
    entries, y = [], 0.0
    for first in range(0, len(names), len(starts)):
        row = names[first : first + len(starts)]
        broken = [
            wrapped(name, WIDTH - KEY - _GAP - start)
            for name, start in zip(row, starts, strict=False)
        ]
        entries += [
            Entry(lines, start, y + _ROW / 2) for lines, start in zip(broken, starts, strict=False)
        ]
        y += _ROW + LINE * (max(map(len, broken)) - 1)
    return tuple(entries), y
