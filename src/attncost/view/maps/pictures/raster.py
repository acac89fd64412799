"""A picture of weights as PNG, in the same places as the SVG, two pixels a unit."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from attncost.view.maps.pictures import png as files
from attncost.view.maps.pictures.colours import CHOSEN, INK, PAPER, rgb
from attncost.view.maps.pictures.drawing import Drawing
from attncost.view.maps.pictures.letters import lettered
from attncost.view.maps.pictures.parts import DOTS, Text

# From the foot of the letters to that of their pixels.
_BELOW = 1


def png(drawing: Drawing) -> bytes:
    """Return the picture as a file."""
    canvas = np.empty((drawing.height * DOTS, drawing.width * DOTS, 3), np.uint8)
    canvas[:] = rgb(PAPER)
    for image in drawing.images:
        _put(canvas, image.y * DOTS, image.x * DOTS, image.pixels)
    if drawing.marked is not None:
        _frame(canvas, drawing.marked, 3, PAPER)
        _frame(canvas, drawing.marked, 2, CHOSEN)
    for text in drawing.texts:
        _write(canvas, text)
    return files.png(canvas, title=drawing.title)


def _put(canvas: NDArray[Any], y: int, x: int, pixels: NDArray[Any]) -> None:
    """Copy pixels to a place, as far as they lie inside."""
    top, left = max(0, -y), max(0, -x)
    room = canvas[max(0, y) :, max(0, x) :]
    shown = pixels[top:, left:][: len(room), : room.shape[1]]
    room[: len(shown), : shown.shape[1]] = shown


def _frame(canvas: NDArray[Any], box: tuple[int, int, int, int], reach: int, colour: str) -> None:
    """Draw a frame around a box, so many units wide and all of it outside."""
    x, y, wide, tall = (value * DOTS for value in box)
    inside = canvas[y : y + tall, x : x + wide].copy()
    edge = reach * DOTS
    canvas[max(0, y - edge) : y + tall + edge, max(0, x - edge) : x + wide + edge] = rgb(colour)
    canvas[y : y + tall, x : x + wide] = inside


def _write(canvas: NDArray[Any], text: Text) -> None:
    ink = lettered(text.plain or text.text).repeat(DOTS, 0).repeat(DOTS, 1)
    if text.bold:
        ink = ink | np.pad(ink, ((0, 0), (1, 0)))[:, :-1]
    back = {"start": 0, "middle": ink.shape[1] // 2, "end": ink.shape[1]}[text.anchor]
    y, x = text.y * DOTS, text.x * DOTS
    above = ink.shape[0] - _BELOW * DOTS
    if text.upright:
        ink, y, x = np.rot90(ink), y + back - ink.shape[1], x - above
    else:
        y, x = y - above, x - back
    area = canvas[max(0, y) : y + ink.shape[0], max(0, x) : x + ink.shape[1]]
    pixels = area.copy()
    pixels[ink[-len(area) :, : area.shape[1]]] = rgb(INK)
    area[:] = pixels
