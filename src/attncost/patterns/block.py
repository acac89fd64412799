"""Block-sparse attention: blocks of queries read the blocks of keys that a layout lists.

    pairs(n, n) = n size, if every block reads itself and `size` divides n
    time  O(n size d) then, else O(size² d) for each block that the layout lists

Use it when attention is to stay within chunks, as in some layers of Llama 4, or when a layout is
known beforehand from statistics of trained heads.
Not when neighbours on two sides of a border must read each other in every layer: a window has no
borders.
A layout speaks of positions in blocks from the first key on and covers `size` tokens a block: a
longer sequence needs a larger layout.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, final

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attncost.core.counts import Count, ceil_div, counted, larger, smaller
from attncost.core.errors import ShapeError
from attncost.patterns.interface import Part, Pattern, Span, Tile, cut

Layout = tuple[tuple[int, ...], ...]
_SMALL: Final = 32  # Smaller blocks share a tile, for a product that is worth its call.


@final
@dataclass(frozen=True, slots=True)
class Block(Pattern):
    """Whole blocks read whole blocks; compose with `Causal` by `&` where the future is unknown.

    Attributes:
        size: Tokens of a block.
        layout: For each block of queries the blocks of keys that it reads; if left out, every
            block reads itself.
    """

    source: ClassVar[str] = "Qiu et al. 2020, arXiv:1911.02972"

    size: int = 64
    layout: Layout = ()

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ShapeError(f"size must be at least 1 (a block of one token), got {self.size}.")
        if not isinstance(self.layout, Sequence):
            raise ShapeError(
                "layout must list for each block the blocks that it reads, such as "
                f"((0,), (0, 1)), got {self.layout!r}."
            )
        object.__setattr__(self, "layout", tuple(tuple(sorted(set(row))) for row in self.layout))
        for block, row in enumerate(self.layout):
            if row and not 0 <= row[0] <= row[-1] < len(self.layout):
                raise ShapeError(
                    f"layout[{block}] must list blocks from 0 to {len(self.layout) - 1}, as many "
                    f"as the layout has rows, got {row}."
                )

    @classmethod
    def of(cls, mask: Tensor | Sequence[Sequence[bool]], size: int = 64) -> "Block":
        """Read a layout off a square mask of blocks, True where a block is read.

        Raises:
            ShapeError: If the mask is not boolean or not square.

        >>> Block.of([[True, False], [True, True]], size=32).layout
        ((0,), (0, 1))
        """
        if not isinstance(mask, Tensor) and len({len(row) for row in mask}) > 1:
            raise ShapeError(
                f"mask must have rows of one length, got {[len(row) for row in mask]}."
            )
        reads = torch.as_tensor(mask)
        if reads.ndim != 2 or len(set(reads.shape)) != 1 or reads.numel() == 0:
            raise ShapeError(
                "mask must have a row and a column for each of at least 1 block, "
                f"got shape {tuple(reads.shape)}."
            )
        if reads.dtype != torch.bool:
            raise ShapeError(f"mask must be boolean (True = is read), got {reads.dtype}.")
        return cls(size, tuple(tuple(row.nonzero().flatten().tolist()) for row in reads))

    @classmethod
    def examples(cls) -> tuple["Block", ...]:
        """Return chunks of many sizes, and layouts with neighbours, holes and empty rows."""
        chain = tuple((i, min(i + 1, 4), max(i - 1, 0)) for i in range(5))
        return cls(16), cls(1), cls(50), cls(1000), cls(64, chain), cls(128, ((2, 0), (), (1,)))

    @property
    def relative(self) -> bool:
        """Depend on where blocks begin."""
        return False

    def allowed(self, query: Int[Tensor, "*#s"], key: Int[Tensor, "*#s"]) -> Bool[Tensor, "*#s"]:
        """Let a block read itself, or what the layout lists; nothing outside of a layout."""
        query, key, blocks = query // self.size, key // self.size, len(self.layout)
        if not blocks:
            return query == key
        row = [i for i, keys in enumerate(self.layout) for _ in keys]
        column = [key for keys in self.layout for key in keys]
        table = torch.zeros(blocks, blocks, dtype=torch.bool, device=query.device)
        table[row, column] = True
        inside = (query >= 0) & (query < blocks) & (key >= 0) & (key < blocks)
        return inside & table[query.clamp(0, blocks - 1), key.clamp(0, blocks - 1)]

    def pairs(self, n: Count, m: Count) -> Count:
        """Return a square for each block, the last of them cut; with a layout, add what it lists.

        Raises:
            ShapeError: If there are more keys than the layout covers.
        """
        if self.layout:
            return counted(_Listed(self), n, m)
        rest = m - self.size * (ceil_div(m, self.size) - 1)  # The last, complete or not.
        queries = smaller(n, m)  # Those before the first key read nothing.
        in_rest = rest - larger(0, rest - n)
        return self.size * (queries - in_rest) + rest * in_rest

    def parts(self, n: int, m: int, block: int) -> tuple[Part, ...]:
        """Return the blocks; small ones that read only themselves share a tile.

        Raises:
            ShapeError: If there are more keys than the layout covers.
        """
        start = max(0, m - n)
        tiles = self._chunks(start, m, block) if not self.layout else self._listed(start, m, block)
        return (Part(tuple(tiles), self.allowed, False),)

    def _chunks(self, start: int, stop: int, block: int) -> Iterator[Tile]:
        size = self.size * max(1, min(block, _SMALL) // self.size)
        even = ceil_div(size, ceil_div(size, block))
        for first in range(start // size * size, stop, size):
            keys = Span(range(first, min(first + size, stop)), size == self.size)
            for queries in cut(range(max(first, start), keys.keys.stop), even):
                yield Tile(queries, (keys,))

    def _listed(self, start: int, stop: int, block: int) -> Iterator[Tile]:
        _check(self, stop)
        even = ceil_div(self.size, ceil_div(self.size, block))
        for first in range(start // self.size * self.size, stop, self.size):
            keys = (
                range(a * self.size, min(b * self.size, stop))
                for a, b in _runs(self.layout[first // self.size])
            )
            spans = tuple(Span(run, True) for run in keys if run)
            for queries in cut(range(max(first, start), min(first + self.size, stop)), even):
                if spans:
                    yield Tile(queries, spans)


@final
@dataclass(frozen=True, slots=True)
class _Listed:
    """The pairs of a layout, block by block instead of one by one, for `counted`."""

    pattern: Block

    def __str__(self) -> str:
        return str(self.pattern)

    def count(self, n: int, m: int) -> int:
        size, layout = self.pattern.size, self.pattern.layout
        _check(self.pattern, m)
        starts = range(0, m, size)
        keys = [min(size, m - first) for first in starts]
        queries = [max(0, min(first + size, m) - max(first, m - n)) for first in starts]
        return sum(
            rows * sum(keys[key] for key in row if key < len(keys))
            for rows, row in zip(queries, layout, strict=False)
        )


def _runs(blocks: tuple[int, ...]) -> list[tuple[int, int]]:
    """Join neighbouring blocks: (0, 1, 3) is from 0 to 2 and from 3 to 4."""
    runs: list[tuple[int, int]] = []
    for block in blocks:
        first = runs.pop()[0] if runs and runs[-1][1] == block else block
        runs.append((first, block + 1))
    return runs


def _check(pattern: Block, m: int) -> None:
    blocks, size = len(pattern.layout), pattern.size
    if m > blocks * size:
        raise ShapeError(
            f"the layout covers {blocks} blocks of {size} = {blocks * size} tokens, got {m}: "
            f"list {ceil_div(m, size)} blocks."
        )
