"""Language, byte by byte: say the next byte of a novel, from all bytes before it.

    nats of a byte, less is better; bits of a byte = nats / ln 2     chance ln 256 = 5.55 nats

The text is the one of `attncost.core.example`, 84 KiB of *Pride and Prejudice*. Its last tenth is
held out, cut into sequences that do not overlap. So little text is learned by heart when trained
for long: the loss compares attentions over few steps, it says nothing of large models.
"""

import math
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, final

import torch
from jaxtyping import Int
from torch import Tensor

from attncost.core.errors import ShapeError
from attncost.core.example import example_text
from attncost.train.tasks.interface import Batch, Metric, Task, Usual, chances, check_dials


@final
@dataclass(frozen=True, slots=True)
class Bytes(Task):
    """Say the next byte.

    Attributes:
        length: Bytes of a sequence.

    Raises:
        ShapeError: If it is less than 1.
    """

    length: int = 256

    source: ClassVar[str] = (
        "Jane Austen 1813, Pride and Prejudice; bytes as Graves 2013, arXiv:1308.0850"
    )
    metric: ClassVar[Metric] = "nats"
    causal: ClassVar[bool] = True
    pooled: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_dials(length=self.length)

    @classmethod
    def examples(cls) -> tuple["Bytes", ...]:
        """Return the usual one, the shortest, and one of which hardly any fit."""
        return cls(), cls(1), cls(4000)

    @property
    def vocabulary(self) -> int:
        """Count the bytes."""
        return 256

    @property
    def classes(self) -> int:
        """Count the bytes."""
        return 256

    @property
    def chance(self) -> float:
        """Hold all bytes for equally likely."""
        return math.log(256)

    @property
    def usual(self) -> Usual:
        """Stop before the text is known by heart, having read it some ten times."""
        return Usual(steps=200, batch=16, learning_rate=1e-2)

    def drawn(self, size: int, *, seed: int, step: int) -> Batch:
        """Draw where sequences begin in the first nine tenths; they may overlap.

        Raises:
            ShapeError: If the text is too short for one.
            StorageError: If the text is missing.
        """
        text, _ = self._parts()
        first = chances(seed, step).integers(len(text) - self.length, size=size)
        return self._at(text, torch.from_numpy(first))

    def held_out(self, size: int) -> Batch:
        """Return the first sequences of the last tenth, in which each byte is to be said once.

        Raises:
            ShapeError: If the text is too short for one.
            StorageError: If the text is missing.
        """
        _, text = self._parts()
        whole = (len(text) - 1) // self.length
        return self._at(text, torch.arange(min(size, whole)) * self.length)

    def _at(self, text: Int[Tensor, "t"], first: Int[Tensor, "b"]) -> Batch:
        read = text[first[:, None] + torch.arange(self.length + 1)]
        return Batch(read[:, :-1], read[:, 1:])

    def _parts(self) -> tuple[Int[Tensor, "t"], Int[Tensor, "u"]]:
        """Return what trains and what is held out."""
        text = _text()
        start = len(text) - len(text) // 10
        if len(text) - start <= self.length:
            raise ShapeError(
                f"a tenth of the text is held out, {len(text) - start} bytes: length must be less, "
                f"got {self.length}."
            )
        return text[:start], text[start:]


@cache
def _text() -> Int[Tensor, "t"]:
    return torch.tensor(list(example_text().read_bytes()))
