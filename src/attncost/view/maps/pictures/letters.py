"""Text as pixels, in letters of 5 x 8 drawn for this: a PNG has no fonts.

`letters.txt` shows them from the space to the tilde, then what stands for spaces and what cuts
names, twelve side by side. Others lose their accents or are an empty box; the SVG of the same
picture writes them all.
"""

from functools import cache
from importlib.resources import files
from typing import Any, Final
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

_DRAWN: Final = (
    "".join(map(chr, range(ord(" "), ord("~") + 1))) + "\u2423\u21b5\u21e5\u2026\u2264\u2265"
)
_WIDE, _TALL = 5, 8
# Of a letter and the gap behind it.
ADVANCE: Final = _WIDE + 1


def lettered(text: str) -> NDArray[Any]:
    """Return which pixels are ink, 8 rows of 6 columns a letter.

    >>> lettered("Hi").shape, lettered("-")[4].astype(int).tolist()
    ((8, 12), [1, 1, 1, 1, 1, 0])
    """
    drawn, box = _letters(), _box()
    ink = [drawn.get(letter, drawn.get(normalize("NFD", letter)[0], box)) for letter in text]
    return np.concatenate(ink, axis=1) if ink else np.zeros((_TALL, 0), bool)


@cache
def _letters() -> dict[str, NDArray[Any]]:
    drawn = files("attncost.view.maps.pictures").joinpath("letters.txt").read_text(encoding="ascii")
    sheets = (sheet.splitlines() for sheet in drawn.rstrip("\n").split("\n\n"))
    shapes = (
        np.array([[dot == "#" for dot in row[start:][:_WIDE].ljust(ADVANCE)] for row in sheet])
        for sheet in sheets
        for start in range(0, len(sheet[0]), ADVANCE)
    )
    return dict(zip(_DRAWN, shapes, strict=True))


def _box() -> NDArray[Any]:
    box = np.zeros((_TALL, ADVANCE), bool)
    box[:-1, :_WIDE] = True
    box[1:-2, 1 : _WIDE - 1] = False
    return box
