"""What lies in the rows of a batch: the documents of each, and how many slots a row has.

    [[5, 3], [6]], width 8:     a a a a a b b b
                                c c c c c c . .

A row holds one sequence or several packed documents, then or before them padding. Where padding
lies is of no matter to what is read; a hole within a document counts as closed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

import torch
from torch import Tensor

from attncost.core.errors import ShapeError

Lengths: TypeAlias = Sequence[int] | Sequence[Sequence[int]]


@final
@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one batch.

    Attributes:
        documents: Tokens of each document of each row, none of them empty.
        width: Slots of a row, padding included.
    """

    documents: tuple[tuple[int, ...], ...]
    width: int

    @property
    def tokens(self) -> int:
        """Tokens of all documents."""
        return sum(map(sum, self.documents))

    @property
    def slots(self) -> int:
        """Tokens with padding."""
        return len(self.documents) * self.width


def rows_of(
    lengths: Lengths | None = None,
    *,
    width: int | None = None,
    key_mask: Tensor | None = None,
    segments: Tensor | None = None,
) -> Rows:
    """Read the rows off lengths, or off a mask, or off the numbers of documents.

    Masks and numbers on an accelerator are reduced there; what is transferred is a few numbers for
    each row, which waits for the accelerator once.

    Args:
        lengths: Tokens of each sequence; or for each row the tokens of its documents.
        width: Slots of a row; those of the longest row if left out.
        key_mask: True or 1 where a token is real, (batch, n).
        segments: A number for each token, (batch, n); equal numbers in a row are one document.
            Padding has a number below 0, or is hidden by `key_mask`.

    Raises:
        ShapeError: If they do not belong together.
    """
    if lengths is not None:
        if key_mask is not None or segments is not None:
            raise ShapeError("lengths say it all: pass either lengths, or key_mask and segments.")
        return _listed(lengths, width)
    told = segments if key_mask is None else key_mask
    if told is None or width is not None:
        raise ShapeError(
            "a step needs lengths=, key_mask= or segments=, and width= goes with lengths alone: "
            "without them nobody knows what was padding."
        )
    if told.ndim != 2 or (segments is not None and segments.shape != told.shape):
        shapes = [tuple(x.shape) for x in (key_mask, segments) if x is not None]
        raise ShapeError(f"key_mask and segments must have one shape (batch, n), got {shapes}.")
    if segments is None:
        real = (told != 0).sum(1).tolist()
        return Rows(tuple((n,) if n else () for n in real), told.shape[1])
    return Rows(_packed(segments, key_mask), told.shape[1])


def whole(batch: int, width: int) -> Rows:
    """Return rows without padding, each one sequence."""
    return Rows(((width,),) * batch, width)


def _listed(lengths: Lengths, width: int | None) -> Rows:
    documents = tuple(_row(row) for row in lengths)
    longest = max(map(sum, documents), default=0)
    if not documents or (width is not None and width < longest):
        raise ShapeError(
            f"width must hold the longest of one or more rows, got {width} slots for {longest} "
            f"tokens in {len(documents)} rows."
        )
    return Rows(documents, longest if width is None else width)


def _row(row: int | Sequence[int]) -> tuple[int, ...]:
    numbers: Iterable[int] = (row,) if isinstance(row, int) else row
    found = tuple(int(n) for n in numbers)
    if any(n < 0 for n in found):
        raise ShapeError(f"lengths must be at least 0, got {list(found)}.")
    return tuple(n for n in found if n)


def _packed(segments: Tensor, key_mask: Tensor | None) -> tuple[tuple[int, ...], ...]:
    """Add up runs of equal numbers, which are few: sorting all tokens takes 100 times as long."""
    numbers = segments if key_mask is None else segments.masked_fill(key_mask == 0, -1)
    begins = torch.ones_like(numbers, dtype=torch.bool)
    begins[:, 1:] = numbers[:, 1:] != numbers[:, :-1]
    at = begins.flatten().nonzero().flatten()
    rows, width = numbers.shape
    first, run = torch.stack((at, numbers.flatten()[at])).tolist()
    documents: list[dict[int, int]] = [{} for _ in range(rows)]
    for start, stop, number in zip(first, [*first[1:], rows * width], run, strict=False):
        if number >= 0:
            row = documents[start // width]
            row[number] = row.get(number, 0) + stop - start
    return tuple(tuple(row.values()) for row in documents)
