"""What padding wastes: a batch is as long as its longest row.

    slots  sum over batches of  rows * width      pairs  sum over batches of  rows * width²

Work per token (projections, feed-forward) is wasted as slots are, attention as pairs are. Packed
texts waste slots at the end of a row alone, and pairs only under a dense mask: width² for a row.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import final

from attncost.batches.machine import Documents
from attncost.batches.rows import Rows
from attncost.batches.tally import Tally
from attncost.core.notebook import as_html


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

    _repr_html_ = as_html

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

    @classmethod
    def of(cls, tally: Tally, texts: Counter[int]) -> "Waste":
        """Return what counted batches waste.

        Args:
            tally: What lies in all batches.
            texts: How many there are of each length.
        """
        return cls(
            tokens=sum(n * times for n, times in texts.items()),
            slots=sum(slots * times for slots, times in tally.calls.items()),
            pairs=sum(n**2 * times for n, times in texts.items()),
            multiplied=sum(n**2 * times for n, times in tally.sequences.items()),
        )


def waste_of(batches: Iterable[Rows], *, documents: Documents = "apart") -> Waste:
    """Return what batches waste together.

    >>> waste_of([Rows(((5,), (3,)), width=5)])
    Waste(tokens=8, slots=10, pairs=34, multiplied=50)

    Args:
        batches: What lies in the rows of each.
        documents: How attention takes packed texts.
    """
    found, texts = Tally(), Counter[int]()
    for rows in batches:
        found.add(rows, documents)
        texts.update(chain.from_iterable(rows.documents))
    return Waste.of(found, texts)
