"""Where the documents of a packed batch lie: runs of tokens with one number.

Reading them looks at the numbers, so it waits for an accelerator, and a compiled or simulated call
cannot do it.
"""

from itertools import pairwise
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch._subclasses import FakeTensor


class Document(NamedTuple):
    """What one document holds of one sequence, by number; the last query is its last key."""

    sequence: int
    queries: range
    keys: range


def documents(segments: Int[Tensor, "b t"], n: int, m: int) -> list[list[Document]]:
    """Return the documents of each sequence, in order; either range may be empty.

    >>> documents(torch.tensor([[4, 4, 4, 7]]), n=2, m=4)
    [[Document(sequence=0, queries=range(0, 1), keys=range(0, 3)), \
Document(sequence=0, queries=range(1, 2), keys=range(3, 4))]]
    """
    tokens = segments.shape[1]

    def last(size: int, run: range) -> range:
        """Return the run as numbers of the last `size` tokens."""
        earlier = tokens - size
        return range(max(0, run.start - earlier), max(0, run.stop - earlier))

    return [
        [Document(sequence, last(n, run), last(m, run)) for run in _runs(numbers)]
        for sequence, numbers in enumerate(segments.cpu())
    ]


def unmasked(key_mask: Bool[Tensor, "b m"]) -> list[range]:
    """Return the longest run of keys that may be read in each sequence, empty if there is none."""
    found = []
    for mask in key_mask.cpu():
        runs = [run for run in _runs(mask) if mask[run.start]]
        found.append(max(runs, key=len, default=range(0)))
    return found


def unknown(numbers: Tensor) -> str | None:
    """Return why numbers cannot be looked at, in words, or None if they can."""
    if torch.compiler.is_compiling() or numbers.is_meta or isinstance(numbers, FakeTensor):
        return "where documents end is read from numbers, which are not known yet."
    return None


def scattered(segments: Int[Tensor, "b t"]) -> str | None:
    """Return which document is not one run of tokens, in words, or None if all are."""
    for sequence, numbers in enumerate(segments.cpu()):
        found = numbers[[run.start for run in _runs(numbers)]].tolist()
        if len(set(found)) < len(found):
            again = next(number for number in found if found.count(number) > 1)
            return (
                f"segment {again} of sequence {sequence} lies in separate runs of tokens, "
                "which read each other."
            )
    return None


def _runs(numbers: Int[Tensor, "t"] | Bool[Tensor, "t"]) -> list[range]:
    """Return the tokens of each run of equal numbers."""
    changes = (numbers[1:] != numbers[:-1]).nonzero().flatten() + 1
    ends = [0, *changes.tolist(), len(numbers)]
    return [range(a, b) for a, b in pairwise(ends) if a < b]
