"""What a vision model saw, as rows of 8-bit colours that a page can paint."""

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from attncost.core.counts import ceil_div
from attncost.core.errors import ShapeError

Pixels: TypeAlias = NDArray[Any]

# An overlay needs no more; the longer side of a larger image is thinned out.
_SIDE: Final = 512


def pixels(image: object) -> Pixels:
    """Return an image as (rows, columns, 3) bytes.

    Colours that are not all between 0 and 1, as after the normalising of a vision model, are
    stretched from the least to the largest.

    Args:
        image: A tensor or array (rows, columns, 3) or (3, rows, columns), in bytes or floating
            point; or an image that NumPy can read.

    Raises:
        ShapeError: If it is none.
    """
    given = image.detach().cpu().float().numpy() if isinstance(image, Tensor) else np.asarray(image)
    whole = given.dtype == np.uint8 or (isinstance(image, Tensor) and not image.is_floating_point())
    given = given[0] if given.ndim == 4 and len(given) == 1 else given
    if given.ndim == 3 and given.shape[0] in (1, 3) and given.shape[2] not in (1, 3):
        given = given.transpose(1, 2, 0)
    if given.ndim != 3 or given.shape[2] not in (1, 3) or not given.size:
        raise ShapeError(
            f"image must have the axes (rows, columns, 3) or (3, rows, columns), got {given.shape}."
        )
    step = ceil_div(max(given.shape[:2]), _SIDE)
    given = np.broadcast_to(given[::step, ::step], (*given[::step, ::step].shape[:2], 3))
    return given.astype(np.uint8) if whole else _stretched(given.astype(np.float64))


def _stretched(given: Pixels) -> Pixels:
    if not np.isfinite(given).all():
        raise ShapeError("image must hold finite colours, got some that are not.")
    low, high = given.min(), given.max()
    if low < 0 or high > 1:
        given = (given - low) / max(high - low, 1e-12)
    return np.round(given * 255).astype(np.uint8)
