"""The scale below the cells: a bar, its ticks, and a swatch for each kind of hatching."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from attncost.draw.lettering import LINE, SIZE
from attncost.view.maps.pictures.axis import room
from attncost.view.maps.pictures.colours import painted
from attncost.view.maps.pictures.parts import DOTS, Anchor, Image, Text
from attncost.view.maps.pictures.scale import Number, Scale

BAR: Final = 300
_SWATCH: Final = 14
_GAP: Final = 6


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """What explains the colours.

    Attributes:
        left: Where it begins.
        top: Where it begins.
        scale: Of the colours.
        masked: Whether there are masked cells.
        padded: Whether there is padding.
    """

    left: int
    top: int
    scale: Scale
    masked: bool
    padded: bool

    @property
    def bottom(self) -> int:
        """Return where it ends."""
        return self.top + 2 * LINE + (LINE + _GAP) * (self.masked or self.padded)

    def texts(self) -> Iterator[Text]:
        """Return the ends of the scale, round numbers if there is room, and kinds of hatching."""
        low, high = self.scale.ends()
        yield self._tick(0, low, "start")
        yield self._tick(1, high, "end")
        free, end = room(low.raised) + _GAP, BAR - room(high.raised) - _GAP
        for share, number in self.scale.rounds():
            middle, half = round(share * BAR), room(number.raised) // 2 + 1
            if free <= middle - half and middle + half <= end:
                yield self._tick(share, number, "middle")
                free = middle + half + _GAP
        for x, name, _ in self._swatches():
            yield Text(x + _SWATCH + _GAP, self._hatching + SIZE - 1, name)

    def images(self) -> Iterator[Image]:
        """Return the bar and the swatches."""
        weights = np.geomspace(self.scale.low, self.scale.high, BAR * DOTS)[None]
        nowhere = np.zeros(weights.shape, bool)
        yield Image(self.left, self.top, painted(weights, nowhere, (_SWATCH * DOTS, 1), self.scale))
        cell, size = np.full((1, 1), np.nan), (_SWATCH * DOTS, _SWATCH * DOTS)
        for x, _, padded in self._swatches():
            pixels = painted(cell, np.full((1, 1), padded), size, self.scale)
            yield Image(x, self._hatching, pixels)

    @property
    def _hatching(self) -> int:
        return self.top + 2 * LINE + _GAP

    def _tick(self, share: float, number: Number, anchor: Anchor) -> Text:
        x, y = self.left + round(share * BAR), self.top + LINE + SIZE
        return Text(x, y, number.raised, anchor, plain=number.plain)

    def _swatches(self) -> Iterator[tuple[int, str, bool]]:
        x = self.left
        for there, name, padded in ((self.masked, "masked", False), (self.padded, "padding", True)):
            if there:
                yield x, name, padded
                x += _SWATCH + 4 * _GAP + room(name)
