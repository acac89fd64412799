"""What lies in the rows of a batch: the documents of each, and how many slots a row has.

    [[5, 3], [6]], width 8:     a a a a a b b b
                                c c c c c c . .

A row holds one sequence or several packed documents, then or before them padding. Where padding
lies is of no matter to what is read; a hole within a document counts as closed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import index
from reprlib import repr as shortened
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
    each row, which waits for the accelerator once, and once more for a mask that is not boolean.

    Args:
        lengths: Tokens of each sequence; or for each row the tokens of its documents.
        width: Slots of a row; those of the longest row if left out.
        key_mask: True or 1 where a token is real, else False or 0, (batch, n).
        segments: A number for each token, (batch, n); equal numbers in a row are one document.
            Padding has a number below 0, or is hidden by `key_mask`.

    Raises:
        ShapeError: If they do not belong together, or are not of these kinds.
    """
    if lengths is not None:
        if key_mask is not None or segments is not None:
            raise ShapeError("lengths say it all: pass either lengths, or key_mask and segments.")
        return _listed(lengths, width)
    told = segments if key_mask is None else key_mask
    if told is None or width is not None:
        raise ShapeError(
            "a batch needs lengths=, key_mask= or segments=, and width= goes with lengths alone: "
            "without them nobody knows what was padding."
        )
    _check_tensors(key_mask=key_mask, segments=segments)
    if told.ndim != 2 or (segments is not None and segments.shape != told.shape):
        shapes = [tuple(x.shape) for x in (key_mask, segments) if x is not None]
        raise ShapeError(f"key_mask and segments must have one shape (batch, n), got {shapes}.")
    if key_mask is not None:
        _check_mask(key_mask)
    if segments is None:
        real = (told != 0).sum(1).tolist()
        return Rows(tuple((n,) if n else () for n in real), told.shape[1])
    return Rows(_packed(segments, key_mask), told.shape[1])


def whole(batch: int, width: int) -> Rows:
    """Return rows without padding, each one sequence."""
    return Rows(((width,),) * batch, width)


def _listed(lengths: Lengths, width: int | None) -> Rows:
    try:
        documents = _documents(lengths)
        slots = None if width is None else _whole(width)
    except (TypeError, RuntimeError) as error:
        got = " ".join(f"{shortened(lengths)} and width={shortened(width)}".split())
        raise ShapeError(
            "lengths and width must be whole numbers such as [512, 300], or [[5, 3], [6]] for rows "
            f"of documents, got {got}: a mask goes to key_mask=."
        ) from error
    if not documents:
        raise ShapeError("lengths must be those of one or more rows, got none: [0] has no tokens.")
    longest = max(map(sum, documents))
    if slots is not None and slots < longest:
        raise ShapeError(f"width must hold the longest row of {longest} tokens, got {slots} slots.")
    return Rows(documents, longest if slots is None else slots)


def _documents(lengths: Iterable[object]) -> tuple[tuple[int, ...], ...]:
    # A tensor of two axes is a mask more often than lengths, and would be read as tiny documents.
    if getattr(lengths, "ndim", 1) != 1:
        raise TypeError
    return tuple(map(_row, lengths))


def _row(row: object) -> tuple[int, ...]:
    found = tuple(map(_whole, row)) if isinstance(row, Sequence) else (_whole(row),)
    if any(n < 0 for n in found):
        raise ShapeError(f"lengths must be at least 0, got {list(found)}.")
    return tuple(n for n in found if n)


def _whole(number: object) -> int:
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        raise TypeError
    return index(number)


def _check_tensors(**given: object) -> None:
    for name, tensor in given.items():
        if tensor is not None and (not isinstance(tensor, Tensor) or tensor.is_meta):
            got = "one on the meta device" if isinstance(tensor, Tensor) else type(tensor).__name__
            raise ShapeError(f"{name} must be a tensor (batch, n) that has values, got {got}.")
    segments = given["segments"]
    if isinstance(segments, Tensor) and not _has_whole_numbers(segments):
        raise ShapeError(
            f"segments must be whole numbers, one for each token, got {segments.dtype}: what is "
            "real or padding goes to key_mask=."
        )


def _check_mask(mask: Tensor) -> None:
    if mask.dtype == torch.bool:
        return
    got = str(mask.dtype)
    if _has_whole_numbers(mask):
        low, high = torch.stack(mask.aminmax()).tolist() if mask.numel() else (0, 1)
        if low >= 0 and high <= 1:
            return
        got = f"numbers from {low} to {high}"
    raise ShapeError(
        f"key_mask must be booleans, or whole numbers that are 0 or 1 = a real token, got {got}: "
        "give documents as segments=, and an additive mask as mask == 0."
    )


def _has_whole_numbers(tensor: Tensor) -> bool:
    kind = tensor.dtype
    return not (kind == torch.bool or kind.is_floating_point or kind.is_complex)


def _packed(segments: Tensor, key_mask: Tensor | None) -> tuple[tuple[int, ...], ...]:
    """Add up runs of equal numbers, which are few: sorting all tokens takes 100 times as long."""
    numbers = segments if key_mask is None else segments.long().masked_fill(key_mask == 0, -1)
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
