"""Budgeted: texts are sorted by length within pools, and a batch has as many as a budget holds.

    rows  slots // longest      slots  at most the budget      pairs  at most the budget * longest

Batches of like work and memory, of many short texts or of few long ones. From the longest text on
each batch takes as many as it can: no other batches of a pool that keep to the budget are fewer.
The number of texts varies from batch to batch, and with it how much a mean over a batch says.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, final

from attncost.batches.batch import Batch, each_alone
from attncost.batches.interface import Batching, check_dials
from attncost.core.counts import rounded_up
from attncost.core.errors import ShapeError


@final
@dataclass(frozen=True, slots=True)
class Budgeted(Batching):
    """Batches of texts of like length that fill a budget of slots.

    Attributes:
        slots: Slots of a batch, padding included; a text that is longer is alone.
        pool: Texts of so many budgets are sorted at a time: of about so many batches, as with
            `Bucketed`.
        multiple: A row is padded up to a multiple of so many slots.

    Raises:
        ShapeError: If one of them is less than 1, or a row of `multiple` is beyond the budget.
    """

    slots: int = 4096
    pool: int = 50
    multiple: int = 1

    source: ClassVar[str] = "Ott et al. 2019, arXiv:1904.01038 (fairseq, max_tokens)"
    sorts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_dials(slots=self.slots, pool=self.pool, multiple=self.multiple)
        if self.multiple > self.slots:
            raise ShapeError(
                f"slots must hold a row of multiple = {self.multiple} slots, got {self.slots}: "
                "give more, or a smaller multiple."
            )

    @classmethod
    def examples(cls) -> tuple["Budgeted", ...]:
        """Return budgets below most texts and above all, small pools, and rows rounded up."""
        return cls(1), cls(20, pool=1), cls(50, pool=2), cls(), cls(65, pool=3, multiple=8)

    @classmethod
    def dials(cls, lengths: Sequence[int]) -> tuple["Budgeted", ...]:
        """Try powers of two from 128 to 32,768, in pools of 10 and of 100 budgets and of all."""
        tokens = sum(lengths)
        budgets = [1 << i for i in range(7, 16) if i == 7 or 1 << i < 2 * tokens]
        pools = {slots: max(1, -(-tokens // slots)) for slots in budgets}
        return tuple(
            cls(slots, pool=pool)
            for slots, every in pools.items()
            for pool in (*(few for few in (10, 100) if few < every), every)
        )

    def batches(self, lengths: Sequence[int], order: Sequence[int]) -> tuple[Batch, ...]:
        """Sort pool by pool, longest first, and fill one batch after the other."""
        found = []
        for pool in self._pools(lengths, order):
            at = 0
            while at < len(pool):
                width = self.row_slots(lengths[pool[at]])
                # Texts without tokens need no slots, however many they are.
                rows = max(1, self.slots // width) if width else len(pool)
                found.append(each_alone(pool[at : at + rows], multiple=self.multiple))
                at += rows
        return tuple(found)

    def row_slots(self, tokens: int) -> int:
        """Round up to a multiple of so many slots."""
        return int(rounded_up(tokens, self.multiple))

    def _pools(self, lengths: Sequence[int], order: Sequence[int]) -> Iterator[list[int]]:
        pool: list[int] = []
        held = 0
        for text in order:
            slots = self.row_slots(lengths[text])
            if pool and held + slots > self.pool * self.slots:
                yield sorted(pool, key=lengths.__getitem__, reverse=True)
                pool, held = [], 0
            pool.append(text)
            held += slots
        if pool:
            yield sorted(pool, key=lengths.__getitem__, reverse=True)
