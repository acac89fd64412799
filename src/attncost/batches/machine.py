"""How long a model takes on a batch: from one curve over slots, and one over the length of a text.

    seconds = rest(rows * width) + rows * attend(width)              padded
    seconds = rest(width) + sum over texts of attend(tokens)         packed, each text apart,
              + packed.row + texts * packed.text                     and what looping takes
    seconds = rest(width) + attend(width, dense=True)                packed, under a dense mask

All that is not attention treats a slot like any other, wherever it lies; attention takes each
sequence by itself. What a batch of many slots does to caches is in `rest`, and what a call costs
by itself, too.
"""

from typing import Final, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

from attncost.batches.rows import Rows

# How attention takes the documents of a row: each by itself, or all at once under a dense mask.
Documents: TypeAlias = Literal["apart", "masked"]

# What a slot costs beside attention, in pairs: 24 d² FLOPs a layer against 4 d, for a d_model of
# 768. Ways decide by it where no model is known.
PAIRS_PER_SLOT: Final = 6 * 768


class Looping(NamedTuple):
    """What it takes to go through the texts of a packed row, beside their attention.

    Attributes:
        row: Seconds of a row whose texts are taken apart, in all layers.
        text: Seconds of each text in it, in all layers.
    """

    row: float = 0.0
    text: float = 0.0


# What a kernel takes that has all texts of a row at once.
AT_ONCE: Final = Looping()


@runtime_checkable
class Machine(Protocol):
    """A model on a machine."""

    @property
    def name(self) -> str:
        """What people call the two of them."""

    @property
    def packed(self) -> Looping:
        """What a packed row takes more if its texts are taken apart."""

    def rest(self, slots: int) -> float:
        """Return the seconds of one call on so many slots without its attention."""

    def attend(self, length: int, *, dense: bool = False) -> float:
        """Return the seconds of the attention of one sequence, in all layers.

        Args:
            length: Its tokens.
            dense: Whether all pairs are multiplied under a mask, whatever the pattern.
        """


def apart(rows: Rows, *, documents: Documents = "apart") -> bool:
    """Say whether attention takes texts of one row one by one."""
    return documents == "apart" and any(len(row) > 1 for row in rows.documents)


def attended(rows: Rows, *, documents: Documents = "apart") -> list[int]:
    """Return the lengths of the sequences that attention multiplies: with their padding.

    >>> attended(Rows(((5,), (3,)), width=5))
    [5, 5]
    >>> packed = Rows(((5, 3),), width=8)
    >>> attended(packed), attended(packed, documents="masked")
    ([5, 3], [8])
    """
    if not apart(rows, documents=documents):
        return [rows.width] * len(rows.documents)
    found = []
    for row in rows.documents:
        padding = rows.width - sum(row)
        # Padding behind packed texts is one more of them, which nobody looks at.
        found += [*row, padding] if padding else [*row]
    return found
