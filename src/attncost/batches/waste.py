"""What padding wastes: a batch is as long as its longest row.

    slots  sum over batches of  rows * width      pairs  sum over batches of  rows * width²

Work per token (projections, feed-forward) is wasted as slots are, attention as pairs are. Packed
texts waste slots at the end of a row alone, and pairs only under a dense mask: width² for a row.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

from attncost.batches.machine import Documents, attended
from attncost.batches.rows import Rows


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Waste:
    """What a set of batches holds, and what a model computes on it.

    Attributes:
        tokens: Tokens of the texts.
        slots: The same with padding.
        pairs: Pairs of queries and keys within the texts, without a mask.
        multiplied: Pairs that attention multiplies, those of padding included.
    """

    tokens: int
    slots: int
    pairs: int
    multiplied: int

    @property
    def wasted_tokens(self) -> float:
        """The share of slots that are padding."""
        return 1 - self.tokens / self.slots if self.slots else 0.0

    @property
    def times_pairs(self) -> float:
        """How many pairs are multiplied for each one within the texts."""
        return self.multiplied / self.pairs if self.pairs else 1.0

    def __add__(self, other: "Waste") -> "Waste":
        return Waste(
            tokens=self.tokens + other.tokens,
            slots=self.slots + other.slots,
            pairs=self.pairs + other.pairs,
            multiplied=self.multiplied + other.multiplied,
        )


def waste_of(batches: Iterable[Rows], *, documents: Documents = "apart") -> Waste:
    """Return what batches waste together.

    >>> waste_of([Rows(((5,), (3,)), width=5)])
    Waste(tokens=8, slots=10, pairs=34, multiplied=50)

    Args:
        batches: What lies in the rows of each.
        documents: How attention takes packed texts.
    """
    wastes = (_of_batch(rows, documents) for rows in batches)
    return sum(wastes, Waste(tokens=0, slots=0, pairs=0, multiplied=0))


def _of_batch(rows: Rows, documents: Documents) -> Waste:
    return Waste(
        tokens=rows.tokens,
        slots=rows.slots,
        pairs=sum(length**2 for row in rows.documents for length in row),
        multiplied=sum(length**2 for length in attended(rows, documents=documents)),
    )
