"""What whoever made a mask says of it, where its values cannot be looked at, as on the meta device.

A mask is told of as an object: a slice or a cast of it is another one, of which nothing is known.
"""

from typing import Final

from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

_TOLD: Final = WeakTensorKeyDictionary()


def tell(mask: Tensor, entries: int) -> None:
    """Say how many entries of a mask let a key be read."""
    _TOLD[mask] = entries


def told(mask: Tensor) -> int | None:
    """Return how many entries of a mask let a key be read, if anybody said so."""
    entries: int | None = _TOLD.get(mask)
    return entries
