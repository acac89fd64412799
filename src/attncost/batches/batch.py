"""A batch: which texts lie in which of its rows, by number."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

from attncost.batches.rows import Rows
from attncost.core.counts import rounded_up


@final
@dataclass(frozen=True, slots=True)
class Batch:
    """What one call of a model reads.

    Attributes:
        rows: The numbers of the texts in each row, in order; several if they are packed.
        multiple: A row is padded up to a multiple of so many slots.
    """

    rows: tuple[tuple[int, ...], ...]
    multiple: int = 1

    @property
    def texts(self) -> tuple[int, ...]:
        """The numbers of all texts, row by row."""
        return tuple(number for row in self.rows for number in row)

    def layout(self, lengths: Sequence[int]) -> Rows:
        """Return what lies in its rows.

        >>> Batch(((0,), (2,)), multiple=4).layout([5, 9, 3])
        Rows(documents=((5,), (3,)), width=8)

        Args:
            lengths: Tokens of each text of the whole set, at least 0.
        """
        documents = tuple(tuple(lengths[i] for i in row if lengths[i]) for row in self.rows)
        longest = max(map(sum, documents), default=0)
        return Rows(documents, int(rounded_up(longest, self.multiple)))


def each_alone(texts: Iterable[int], *, multiple: int = 1) -> Batch:
    """Return a batch that has a row for each text.

    >>> each_alone([4, 2])
    Batch(rows=((4,), (2,)), multiple=1)
    """
    return Batch(tuple((text,) for text in texts), multiple)
