"""BigBird attention: blocks of tokens read their neighbours, the first blocks and random ones.

    pairs(n, n) ~ n block (global_blocks + window_blocks + random_blocks), counted block by block
    time  O(n block (g + w + r) d)

Use it when documents are long and what belongs together may stand anywhere: random blocks join
any two tokens in a few layers. Not for text that is generated token by token, as every block reads
the future. Which block is drawn may not depend on the length: each draws among all of the first
`longest` tokens, beyond them among twice as many, four times as many and so on. That is the draw
of the paper at `longest` tokens; a shorter sequence loses the draws that lie beyond its end.
"""

from dataclasses import dataclass
from typing import ClassVar, Final, TypeVar, final

import numpy as np
from jaxtyping import Bool, Int
from torch import Tensor

from attncost.core.counts import Count, ceil_div, counted
from attncost.core.errors import ShapeError
from attncost.patterns.interface import Part, Pattern, Span, Tile, cut

_32_BITS: Final = 0xFFFF_FFFF
# Blocks of one kind: what is drawn is held in memory.
_MOST: Final = 1 << 16

Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]
Whole = TypeVar("Whole", Numbers, Tensor)


@final
@dataclass(frozen=True, slots=True)
class BigBird(Pattern):
    """Neighbouring, global and random blocks of tokens.

    Attributes:
        block: Tokens of a block; queries of one block read the same keys.
        window_blocks: Blocks that a block reads around itself, itself included; odd.
        random_blocks: Blocks that it reads besides, drawn from all others; fewer if there are no
            more.
        global_blocks: How many blocks, from the first, read every key and are read by every query.
        seed: Which random blocks.
        longest: Tokens of the sequence for which they are drawn evenly.
    """

    source: ClassVar[str] = "Zaheer et al. 2020, arXiv:2007.14062"

    block: int = 64
    window_blocks: int = 3
    random_blocks: int = 3
    global_blocks: int = 2
    seed: int = 0
    longest: int = 4096

    def __post_init__(self) -> None:
        least = {"block": 1, "window_blocks": 1, "longest": 1}
        least |= {"random_blocks": 0, "global_blocks": 0, "seed": 0}
        for name, smallest in least.items():
            if getattr(self, name) < smallest:
                raise ShapeError(f"{name} must be at least {smallest}, got {getattr(self, name)}.")
            if getattr(self, name) > _MOST and name.endswith("blocks"):
                raise ShapeError(f"{name} must be at most {_MOST:,}, got {getattr(self, name)}.")
        if self.window_blocks % 2 == 0:
            raise ShapeError(
                "window_blocks must be odd (as many before a block as after it), "
                f"got {self.window_blocks}."
            )
        if self.seed > _32_BITS:
            raise ShapeError(f"seed must be at most {_32_BITS}, got {self.seed}.")

    @classmethod
    def examples(cls) -> tuple["BigBird", ...]:
        """Return the usual one, and each kind of block alone and in excess."""
        return (
            cls(),
            cls(16, longest=300, seed=7),
            cls(7, longest=20, random_blocks=2, global_blocks=1),
            cls(8, 1, 4, 0, longest=64),
            cls(5, 5, 0, 0),
            cls(10, 3, 40, 3, longest=200),
            cls(1, 3, 3, 30, longest=50),
        )

    @property
    def relative(self) -> bool:
        """Look where a token stands."""
        return False

    def allowed(self, query: Int[Tensor, "*#s"], key: Int[Tensor, "*#s"]) -> Bool[Tensor, "*#s"]:
        """Let a query read the blocks around its own, the global ones and those it has drawn."""
        reader, read = query.long() // self.block, key.long() // self.block
        near = (read - reader).abs() <= self.window_blocks // 2
        # Before the first key there is no block.
        hub = (reader >= 0) & (reader < self.global_blocks)
        found = near | hub | (read < self.global_blocks)
        for drawn in self._drawn(reader):
            found = found | (read == drawn)
        return found

    def pairs(self, n: Count, m: Count) -> Count:
        """Count them block by block."""
        return counted(_Blocks(self), n, m)

    def parts(self, n: int, m: int, block: int) -> tuple[Part, ...]:
        """Return one part: full spans for each block of queries, neighbours in one."""
        if not n * m:
            return ()
        readers = np.arange((m - n) // self.block, ceil_div(m, self.block))
        drawn = np.array(self._drawn(readers), dtype=np.int64).reshape(-1, len(readers)).T
        tiles = []
        for reader, also in zip(readers.tolist(), drawn.tolist(), strict=True):
            spans = tuple(self._spans(reader, also, m))
            start, stop = max(reader * self.block, m - n), min((reader + 1) * self.block, m)
            tiles += [Tile(queries, spans) for queries in cut(range(start, stop), block)]
        return (Part(tuple(tile for tile in tiles if tile.spans), self.allowed, False),)

    def _spans(self, reader: int, drawn: list[int], m: int) -> list[Span]:
        if 0 <= reader < self.global_blocks:
            return [Span(range(m), True)]
        reach = self.window_blocks // 2
        runs = [(0, self.global_blocks), (max(0, reader - reach), reader + reach + 1)]
        runs += [(block, block + 1) for block in drawn if block >= 0]
        spans: list[Span] = []
        for start, stop in sorted(runs):
            keys = range(min(start * self.block, m), min(stop * self.block, m))
            if spans and keys.start <= spans[-1].keys.stop:
                keys = range(spans[-1].keys.start, max(spans.pop().keys.stop, keys.stop))
            if keys:
                spans.append(Span(keys, True))
        return spans

    def _drawn(self, reader: Whole) -> list[Whole]:
        """Return the random blocks of each block of queries, -1 where there are no more.

        Whole-number arithmetic alone, so that NumPy and torch agree on every device: sampling
        without replacement by Floyd's method, from a counter-based hash.
        """
        # The shortest doubling of `longest` that holds the block: all bits below the highest, + 1.
        longest = ceil_div(self.longest, self.block)
        doublings = reader // longest
        for shift in (1, 2, 4, 8, 16, 32):
            doublings = doublings | (doublings >> shift)
        reach = longest * (doublings + 1)
        half = self.window_blocks // 2
        before = _positive(reader - half - self.global_blocks)
        between = _positive(reader + half + 1 - self.global_blocks - before)
        after = _positive(reach - self.global_blocks - before - between)
        spare = _positive(before + after - self.random_blocks)
        state = _mixed(reader ^ self.seed)
        chosen: list[Whole] = []
        blocks: list[Whole] = []
        for slot in range(self.random_blocks):
            last = spare + slot
            pick = _mixed(state + slot) % (last + 1)
            for other in chosen:
                pick = pick + (pick == other) * (last - pick)
            chosen.append(pick)
            block = self.global_blocks + pick + (pick >= before) * between
            blocks.append((last < before + after) * (block + 1) - 1)
        return blocks


@final
@dataclass(frozen=True, slots=True)
class _Blocks:
    """The pairs of the pattern, for `counted`."""

    linear: ClassVar[bool] = True

    pattern: BigBird

    def count(self, n: int, m: int) -> int:
        tiles = (tile for part in self.pattern.parts(n, m, max(1, n)) for tile in part.tiles)
        return sum(len(rows) * sum(len(keys) for keys, _ in spans) for rows, spans in tiles)

    def __str__(self) -> str:
        return "bigbird"  # all parameters would fill a table's column


def _positive(number: Whole) -> Whole:
    return (number > 0) * number


def _mixed(number: Whole) -> Whole:
    """Return 32 well mixed bits of each number; no step leaves 63 bits (splitmix32)."""
    mixed = (number + 0x9E37_79B9) & _32_BITS
    mixed = (mixed ^ (mixed >> 16)) * 0x21F0_AAAD & _32_BITS
    mixed = (mixed ^ (mixed >> 15)) * 0x735A_2D97 & _32_BITS
    return mixed ^ (mixed >> 15)
