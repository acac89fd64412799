"""What a call reads, as runs of keys for each query: a few numbers a row instead of n x m bits.

    time    O(runs) for patterns that look at distances alone, whole documents included, else O(n m)
    memory  O(runs + m), a few rows at a time

Padding is not among it, for a page draws that apart. A pattern that reads scattered keys has many
runs; the worst is as large as the dense mask.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import NDArray
from torch import Tensor

from attncost.core.options import Options
from attncost.kernels.masks import readable
from attncost.patterns.interface import Pattern

Numbers: TypeAlias = NDArray[Any]
# Says which keys the queries of a slice may read, whatever the pattern: rows times keys.
Open: TypeAlias = Callable[[slice], Bool[Tensor, "_ m"]]

_PAIRS_AT_ONCE: Final = 1 << 22


@final
@dataclass(frozen=True, slots=True, eq=False)
class Reads:
    """Runs of keys that are read.

    Attributes:
        m: Keys.
        counts: Runs of each query.
        starts: First key of each run, row by row.
        ends: The key after its last one.
    """

    m: int
    counts: Numbers
    starts: Numbers
    ends: Numbers

    @property
    def everything(self) -> bool:
        """Whether every query reads every key."""
        return int((self.ends - self.starts).sum()) == len(self.counts) * self.m

    @property
    def causal(self) -> bool:
        """Whether no query reads a key after its own."""
        n = len(self.counts)
        return bool((self.ends - 1 <= self.rows() + (self.m - n)).all())

    def rows(self) -> Numbers:
        """Return the query of each run."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    def gaps(self) -> Numbers:
        """Return for each run how many keys are skipped before it, and how many it reads."""
        before = np.roll(self.ends, 1)
        before[(self.counts.cumsum() - self.counts)[self.counts > 0]] = 0
        return np.stack([self.starts - before, self.ends - self.starts], 1).ravel()

    def mask(self, rows: slice) -> Bool[Tensor, "r m"]:
        """Return what some queries read, as a dense mask."""
        ends = np.concatenate([[0], self.counts.cumsum()])
        first, last = ends[rows.start], ends[rows.stop]
        edges = np.zeros((rows.stop - rows.start, self.m + 1), np.int8)
        row = np.repeat(np.arange(len(edges)), self.counts[rows])
        edges[row, self.starts[first:last]] = 1
        edges[row, self.ends[first:last]] = -1
        return torch.from_numpy(edges[:, :-1].cumsum(1, dtype=np.int8).astype(bool))


def reads(
    pattern: Pattern, n: int, m: int, *, segments: Int[Tensor, "t"] | None, open_: Open | None
) -> Reads:
    """Return what is read.

    Args:
        pattern: Which key each query reads.
        n: Queries.
        m: Keys.
        segments: A number for each of the last `max(n, m)` tokens; different ones never meet.
        open_: What else hides keys; None if nothing does.
    """
    documents = _documents(segments, n, m)
    if pattern.relative and open_ is None and documents is not None:
        found = list(_by_distance(pattern, n, m, documents))
    else:
        found = list(_by_pair(pattern, n, m, segments=segments, open_=open_))
    rows, starts, ends = (np.concatenate(some) for some in zip(*found, strict=True))
    return Reads(m, np.bincount(rows, minlength=n), starts, ends)


def _documents(segments: Tensor | None, n: int, m: int) -> tuple[Numbers, Numbers] | None:
    """Return the first key, and the one after the last, of each query's document.

    None if a document lies in several places.
    """
    if segments is None:
        return np.zeros(n, np.int64), np.full(n, m)
    _, inverse = segments.cpu().unique(return_inverse=True)
    numbers = inverse.numpy()
    mine, theirs = numbers[len(numbers) - n :], numbers[len(numbers) - m :]
    cuts = np.flatnonzero(np.diff(theirs)) + 1
    names = theirs[np.concatenate([[0], cuts])]
    if len(np.unique(names)) < len(names):
        return None
    # A document of queries alone has no keys.
    first, last = (np.zeros(numbers.max() + 1, np.int64) for _ in range(2))
    first[names], last[names] = np.concatenate([[0], cuts]), np.concatenate([cuts, [m]])
    return first[mine], last[mine]


def _by_distance(
    pattern: Pattern, n: int, m: int, documents: tuple[Numbers, Numbers]
) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    """Find the runs of distances, and cut them to the document of each query."""
    query = torch.tensor(n + m)
    ahead = torch.arange(1 - m, n)
    allowed = pattern.allowed(query, query + ahead).expand(n + m - 1)
    _, starts, ends = _runs(allowed[None].numpy())
    position = np.arange(m - n, m)
    for rows in _slices(n, len(starts)):
        first, last = (limit[rows, None] for limit in documents)
        begin = np.maximum(position[rows, None] + starts + (1 - m), first)
        end = np.minimum(position[rows, None] + ends + (1 - m), last)
        row, run = np.nonzero(begin < end)
        yield row + rows.start, begin[row, run], end[row, run]


def _by_pair(
    pattern: Pattern, n: int, m: int, *, segments: Tensor | None, open_: Open | None
) -> Iterator[tuple[Numbers, Numbers, Numbers]]:
    options = Options(segments=None if segments is None else segments.cpu()[None])
    key = torch.arange(m)
    for rows in _slices(n, m):
        query = torch.arange(rows.start, rows.stop)[:, None] + (m - n)
        mask = readable(pattern, options, query, key, n=n, m=m)[0, 0]
        row, starts, ends = _runs((mask if open_ is None else mask & open_(rows)).numpy())
        yield row + rows.start, starts, ends


def _runs(mask: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return the row, the start and the end of each run of True."""
    edges = np.diff(np.pad(mask, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    row, starts = np.nonzero(edges == 1)
    return row, starts, np.nonzero(edges == -1)[1]


def _slices(n: int, width: int) -> Iterator[slice]:
    step = max(1, _PAIRS_AT_ONCE // max(1, width))
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))
