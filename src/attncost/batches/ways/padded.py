"""Padded: so many texts as they come, each row as long as the longest of them.

    slots  size * longest      pairs  size * longest²

It is what everybody begins with. A single long text makes all rows of its batch long.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

from attncost.batches.batch import Batch, each_alone
from attncost.batches.interface import Batching, check_dials
from attncost.core.counts import rounded_up


@final
@dataclass(frozen=True, slots=True)
class Padded(Batching):
    """Batches of texts in the order in which they come.

    Attributes:
        size: Texts in a batch; the last may have fewer.
        multiple: A row is padded up to a multiple of so many slots.

    Raises:
        ShapeError: If one of them is less than 1.
    """

    size: int = 32
    multiple: int = 1

    source: ClassVar[str] = "torch.nn.utils.rnn.pad_sequence"

    def __post_init__(self) -> None:
        check_dials(size=self.size, multiple=self.multiple)

    @classmethod
    def examples(cls) -> tuple["Padded", ...]:
        """Return batches of one, of a few, and rounded up."""
        return cls(1), cls(3), cls(32), cls(4, multiple=8)

    @classmethod
    def dials(cls, lengths: Sequence[int]) -> tuple["Padded", ...]:
        """Try the powers of two up to 64."""
        return tuple(cls(1 << i) for i in range(7) if i == 0 or 1 << i < 2 * len(lengths))

    def batches(self, lengths: Sequence[int], order: Sequence[int]) -> tuple[Batch, ...]:
        """Cut the order into pieces."""
        del lengths
        return tuple(
            each_alone(order[i : i + self.size], multiple=self.multiple)
            for i in range(0, len(order), self.size)
        )

    def row_slots(self, tokens: int) -> int:
        """Round up to a multiple of so many slots."""
        return int(rounded_up(tokens, self.multiple))
