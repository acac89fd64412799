"""Where everything in a picture of weights stands: cells, names, ticks, a scale.

Whole units, which are pixels of an SVG and two pixels each of a PNG.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from attncost.draw.lettering import LINE, SIZE, wrapped
from attncost.view.maps.pictures.axis import Axis, Label, room, short, sizes
from attncost.view.maps.pictures.colours import painted
from attncost.view.maps.pictures.key import BAR, Key
from attncost.view.maps.pictures.parts import DOTS, Image, Text
from attncost.view.maps.pictures.scale import Scale

_GAP: Final = 6
# Around it all.
_EDGE: Final = 8
# From the middle of a line of text to its foot.
_FOOT: Final = 5


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Drawing:
    """What stands in a picture.

    Attributes:
        width: Of it all.
        height: Of it all.
        title: What it is.
        description: The same for who cannot see it.
        texts: Lines of text.
        images: Cells and the scale; the cells come first.
        marked: The row that is marked: left, top, width and height.
    """

    width: int
    height: int
    title: str
    description: str
    texts: tuple[Text, ...]
    images: tuple[Image, ...]
    marked: tuple[int, int, int, int] | None


def drawing(
    weights: NDArray[Any],
    padded: NDArray[Any],
    *,
    lengths: tuple[int, int],
    title: str,
    names: tuple[Sequence[str], Sequence[str]],
    query: int | None,
) -> Drawing:
    """Lay out a picture.

    Args:
        weights: Of each cell, NaN where nothing is read.
        padded: Which cells are padding.
        lengths: Queries and keys.
        title: What stands above.
        names: Of queries and of keys.
        query: A query whose row is marked.
    """
    (r, c), (n, m) = weights.shape, lengths
    tall, wide = sizes(r, c)
    down = Axis(
        cells=r, cell=tall, length=n, what=("query", "queries"), names=names[0], marked=query
    )
    across = Axis(cells=c, cell=wide, length=m, what=("key", "keys"), names=names[1])
    scale = Scale.fitted(np.where(padded, np.nan, weights))
    place = _Place.of(down, across, title)
    left, foot = place.left, place.top + down.room
    masked = bool((np.isnan(weights) & ~padded).any())
    key = Key(left=left, top=foot + LINE, scale=scale, masked=masked, padded=bool(padded.any()))
    said = list(_said(down, across))
    lines = [line for one in said for line in wrapped(one, place.width - left - _EDGE)]
    images = [Image(left, place.top, painted(weights, padded, (tall * DOTS, wide * DOTS), scale))]
    marked = None
    if query is not None:
        marked = (left, place.top + query // down.block * tall, across.room, tall)
    return Drawing(
        width=place.width,
        height=key.bottom + LINE * len(lines) + _EDGE,
        title=title,
        description=" ".join(["Queries run down, keys to the right.", *said]),
        texts=(
            *place.texts(down, across),
            *key.texts(),
            *(Text(left, key.bottom + LINE * i, line) for i, line in enumerate(lines, 1)),
        ),
        images=(*images, *key.images()),
        marked=marked,
    )


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class _Place:
    """Where the cells begin, how wide the picture is, and what stands around the cells."""

    left: int
    top: int
    width: int
    title: tuple[str, ...]

    @classmethod
    def of(cls, down: Axis, across: Axis, title: str) -> "_Place":
        beside = max(room(label.text) for label in down.labels())
        left = _EDGE + LINE + _GAP + beside + _GAP
        # The last place may stand out on the right.
        ends = [
            label.at + (0 if across.named else room(label.text) // 2) for label in across.labels()
        ]
        width = left + max(across.room, BAR, *ends) + _EDGE
        lines = wrapped(title, width - 2 * _EDGE)
        above = max(room(label.text) for label in across.labels()) if across.named else LINE
        top = _EDGE + LINE * (len(lines) + 1) + _GAP + above + _GAP
        return cls(left=left, top=top, width=width, title=lines)

    def texts(self, down: Axis, across: Axis) -> Iterator[Text]:
        for i, line in enumerate(self.title):
            yield Text(_EDGE, _EDGE + SIZE + LINE * i, line)
        keys, queries = across.title(), down.title()
        # Beside few cells a title begins where it can, rather than left of the picture.
        middle = max(self.left + across.room // 2, _EDGE + room(keys) // 2)
        yield Text(middle, _EDGE + LINE * len(self.title) + SIZE, keys, "middle")
        yield Text(_EDGE + SIZE, self.top + down.room // 2, queries, "middle", upright=True)
        for label in down.labels():
            y = self.top + label.at + _FOOT
            yield Text(self.left - _GAP, y, label.text, "end", bold=label.marked)
        for label in across.labels():
            yield self._above(label, upright=across.named)

    def _above(self, label: Label, *, upright: bool) -> Text:
        if upright:
            return Text(self.left + label.at + _FOOT, self.top - _GAP, label.text, upright=True)
        return Text(self.left + label.at, self.top - _GAP, label.text, "middle")


def _said(down: Axis, across: Axis) -> Iterator[str]:
    yield "Equal steps of colour are equal factors."
    if (down.block, across.block) != (1, 1):
        give = f"{down.block:,} queries give" if down.block > 1 else "a query gives"
        keys = f"{across.block:,} keys together" if across.block > 1 else "a key"
        yield f"A cell is the mean mass that {give} to {keys}."
    if down.marked is not None:
        name = f', "{short(down.names[down.marked])}"' if down.names else ""
        yield f"Marked: query {down.marked:,}{name}."
