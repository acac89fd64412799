"""How long a model takes on a batch: from one curve over slots, and one over the length of a text.

    seconds = rest(rows * width) + rows * attend(width)              padded
    seconds = rest(width) + sum over texts of attend(tokens)         packed, each text apart
    seconds = rest(width) + attend(width)                            packed, under a dense mask

All that is not attention treats a slot like any other, wherever it lies; attention takes each
sequence by itself. What a batch of many slots does to caches is in `rest`, and what a call costs
by itself, too.
"""

from typing import Literal, Protocol, TypeAlias, runtime_checkable

from attncost.batches.rows import Rows

# How attention takes the documents of a row: each by itself, or all at once under a dense mask.
Documents: TypeAlias = Literal["apart", "masked"]


@runtime_checkable
class Machine(Protocol):
    """A model on a machine."""

    @property
    def name(self) -> str:
        """What people call the two of them."""

    def rest(self, slots: int) -> float:
        """Return the seconds of one call on so many slots without its attention."""

    def attend(self, length: int) -> float:
        """Return the seconds of the attention of one sequence, in all layers."""


def seconds(machine: Machine, rows: Rows, *, documents: Documents = "apart") -> float:
    """Return how long a model takes on one batch.

    Args:
        machine: Knows both curves.
        rows: What lies in the rows of the batch.
        documents: How attention takes packed texts.
    """
    if not rows.slots:
        return 0.0
    return machine.rest(rows.slots) + sum(
        machine.attend(length) for length in attended(rows, documents=documents)
    )


def attended(rows: Rows, *, documents: Documents = "apart") -> list[int]:
    """Return the lengths of the sequences that attention multiplies: with their padding.

    >>> attended(Rows(((5,), (3,)), width=5))
    [5, 5]
    >>> packed = Rows(((5, 3),), width=8)
    >>> attended(packed), attended(packed, documents="masked")
    ([5, 3], [8])
    """
    packs = any(len(row) > 1 for row in rows.documents)
    if not packs or documents == "masked":
        return [rows.width] * len(rows.documents)
    found = []
    for row in rows.documents:
        padding = rows.width - sum(row)
        # Padding behind packed texts is one more of them, which nobody looks at.
        found += [*row, padding] if padding else [*row]
    return found
