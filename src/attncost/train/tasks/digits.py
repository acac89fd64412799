"""Handwritten digits, pixel by pixel: 8 x 8 grey values as 64 tokens in rows, one label an image.

    1,797 images, 17 grey values, 10 digits; every fifth image of each held out; chance 1 / 10

An image is a sequence whose neighbours above and below stand 8 tokens apart: patterns made for
images have something to gain. The images are few, and the same people wrote those that train and
those held out: accuracies compare attentions, they are no record.
"""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar, Final, final

import torch
from jaxtyping import Int
from torch import Tensor

from attncost.core.errors import UnsupportedOption
from attncost.train.tasks.interface import Batch, Metric, Task, Usual, chances

_GREYS: Final = 17
_EVERY: Final = 5


@final
@dataclass(frozen=True, slots=True)
class Digits(Task):
    """Say which digit it is.

    The images come with scikit-learn, of the extra `attncost[train]`; nothing is downloaded.
    """

    source: ClassVar[str] = (
        "Alpaydin & Kaynak 1998, Optical Recognition of Handwritten Digits, UCI, "
        "doi:10.24432/C50P49"
    )
    metric: ClassVar[Metric] = "accuracy"
    causal: ClassVar[bool] = False
    pooled: ClassVar[bool] = True

    @classmethod
    def examples(cls) -> tuple["Digits", ...]:
        """Return the only one there is."""
        return (cls(),)

    @property
    def vocabulary(self) -> int:
        """Count the grey values, from 0 to 16."""
        return _GREYS

    @property
    def classes(self) -> int:
        """Count the digits."""
        return 10

    @property
    def length(self) -> int:
        """Count the pixels."""
        return 64

    @property
    def chance(self) -> float:
        """Guess any digit."""
        return 0.1

    @property
    def usual(self) -> Usual:
        """See each image some 13 times."""
        return Usual(steps=300, batch=64, learning_rate=1e-2)

    def drawn(self, size: int, *, seed: int, step: int) -> Batch:
        """Draw images that train, each as often as chance has it.

        Raises:
            UnsupportedOption: If scikit-learn is not installed.
        """
        images, labels = _parts()[0]
        chosen = torch.from_numpy(chances(seed, step).integers(len(images), size=size))
        return Batch(images[chosen], labels[chosen])

    def held_out(self, size: int) -> Batch:
        """Return the first ones held out, in the order of the data.

        Raises:
            UnsupportedOption: If scikit-learn is not installed.
        """
        images, labels = _parts()[1]
        return Batch(images[:size], labels[:size])


@cache
def _parts() -> tuple[tuple[Int[Tensor, "t 64"], Int[Tensor, "t 1"]], ...]:
    """Return images and labels that train, then those held out."""
    try:
        from sklearn.datasets import load_digits  # noqa: PLC0415 -- optional
    except ImportError as error:
        raise UnsupportedOption(
            "the task digits needs scikit-learn, which has the images: install attncost[train]."
        ) from error
    pixels, digits = load_digits(return_X_y=True)
    images, labels = torch.from_numpy(pixels).long(), torch.from_numpy(digits).long()
    # The how manieth of its digit each image is.
    rank = (labels[:, None] == torch.arange(10)).cumsum(0).gather(1, labels[:, None])[:, 0]
    out = rank % _EVERY == 0
    return (images[~out], labels[~out, None]), (images[out], labels[out, None])
