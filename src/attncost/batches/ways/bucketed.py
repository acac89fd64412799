"""Bucketed: texts are sorted by length within pools, and cut into batches of so many texts.

    slots  size * longest of each batch      pairs  size * longest²

The more batches a pool is, the less padding; with a pool of one it is `Padded`.
The longest batch of a pool comes first, so that what does not fit into memory fails early, and the
last and smaller batch is one of short texts. Each batch has its own shape, and those of short texts
are small: a batch of 32 texts of 5 tokens is hardly worth its call.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

from attncost.batches.batch import Batch, each_alone
from attncost.batches.interface import Batching, check_dials
from attncost.core.counts import rounded_up


@final
@dataclass(frozen=True, slots=True)
class Bucketed(Batching):
    """Batches of texts of like length.

    Attributes:
        size: Texts in a batch; the last of a pool may have fewer.
        pool: So many batches are sorted at a time; what is greater leaves less padding, and less
            to chance.
        multiple: A row is padded up to a multiple of so many slots.

    Raises:
        ShapeError: If one of them is less than 1.
    """

    size: int = 32
    pool: int = 50
    multiple: int = 1

    source: ClassVar[str] = "torchtext.legacy.data.BucketIterator"
    sorts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_dials(size=self.size, pool=self.pool, multiple=self.multiple)

    @classmethod
    def examples(cls) -> tuple["Bucketed", ...]:
        """Return pools of one batch, of two, of more than there are, and rows rounded up."""
        return cls(3, pool=1), cls(2, pool=2), cls(), cls(4, pool=3, multiple=8)

    @classmethod
    def dials(cls, lengths: Sequence[int]) -> tuple["Bucketed", ...]:
        """Try powers of two up to 64, in pools of 10 and of 100 batches and of all."""
        texts = len(lengths)
        sizes = [1 << i for i in range(1, 7) if 1 << i < 2 * texts] or [1]
        pools = {size: -(-texts // size) for size in sizes}
        return tuple(
            cls(size, pool=pool)
            for size, every in pools.items()
            for pool in (*(few for few in (10, 100) if few < every), every)
        )

    def batches(self, lengths: Sequence[int], order: Sequence[int]) -> tuple[Batch, ...]:
        """Sort pool by pool, longest first; texts of one length stay in order."""
        texts = self.pool * self.size
        pools = (
            sorted(order[i : i + texts], key=lengths.__getitem__, reverse=True)
            for i in range(0, len(order), texts)
        )
        return tuple(
            each_alone(pool[i : i + self.size], multiple=self.multiple)
            for pool in pools
            for i in range(0, len(pool), self.size)
        )

    def row_slots(self, tokens: int) -> int:
        """Round up to a multiple of so many slots."""
        return int(rounded_up(tokens, self.multiple))
