"""The colours of weights, the same as in the page: little is dark blue, much is yellow.

Cividis (Nunez, Anderton and Renslow 2018, doi:10.1371/journal.pone.0199239) grows evenly in
lightness and looks alike with and without colour blindness. What is masked has no colour but
hatching, and so has padding: closer, and slanting the other way.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from attncost.view.maps.pictures.scale import Scale

STOPS: Final = (
    "#002051",
    "#11366c",
    "#3c4d6e",
    "#62646f",
    "#7f7c75",
    "#9a9478",
    "#bbaf71",
    "#e2cb5c",
    "#fdea45",
)
PAPER: Final = "#ffffff"
INK: Final = "#1f2328"
HATCH: Final = "#9aa0a6"
# Stands out of every colour of the scale, also without colour, as it is drawn with a rim.
CHOSEN: Final = "#d55e00"
# Pixels from one line of the hatching to the next, of masked pairs and of padding, and along one.
_APART: Final = (16, 8)
_THICK: Final = 2


def rgb(colour: str) -> NDArray[Any]:
    """Return the red, green and blue of a colour.

    >>> rgb("#d55e00").tolist()
    [213, 94, 0]
    """
    return np.frombuffer(bytes.fromhex(colour[1:]), np.uint8)


def coloured(weights: NDArray[Any], scale: Scale) -> NDArray[Any]:
    """Return the colour of each weight along a new last axis; NaN takes that of the least.

    >>> coloured(np.array([0.0, 1.0]), Scale(0.01, 1)).tolist()
    [[0, 32, 81], [253, 234, 69]]
    """
    stops = np.stack([rgb(stop) for stop in STOPS]).astype(np.float64)
    share, at = scale.share(weights), np.linspace(0, 1, len(STOPS))
    channels = [np.interp(share, at, stops[:, channel]) for channel in range(3)]
    return np.round(np.stack(channels, -1)).astype(np.uint8)


def painted(
    weights: NDArray[Any], padded: NDArray[Any], size: tuple[int, int], scale: Scale
) -> NDArray[Any]:
    """Return cells as pixels, hatched where nothing is read and the other way where padding is.

    Args:
        weights: Of each cell, NaN where nothing is read.
        padded: Which cells are padding.
        size: NDArray[Any] down and across a cell.
        scale: Of the colours.
    """
    cells, pad, shut = (
        some.repeat(size[0], 0).repeat(size[1], 1)
        for some in (coloured(weights, scale), padded, np.isnan(weights))
    )
    down, across = np.indices(cells.shape[:2])
    masked, padding = _APART
    cells[shut | pad] = rgb(PAPER)
    cells[shut & ~pad & ((across + down) % masked < _THICK)] = rgb(HATCH)
    cells[pad & ((across - down) % padding < _THICK)] = rgb(HATCH)
    return cells
