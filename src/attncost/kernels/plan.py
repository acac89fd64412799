"""In which steps a pattern is computed: tiles of one shape that one batched call can take.

A plan depends on pattern and lengths alone and is kept for the next call. Neighbouring tiles whose
queries and keys move on evenly need no copy of anything: see `lanes`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Final, final

import numpy as np
from torch.utils._python_dispatch import _disable_current_modes

from attncost.kernels.lanes import Even, Lanes, Scattered, lanes_of
from attncost.patterns.interface import Pattern, Rule, Tile

# Queries of a tile. Wide ones multiply faster, narrow ones multiply less in vain.
_BLOCKS: Final = (64, 256)
# Tiles that must move on evenly before they are worth a step of their own.
_FEW: Final = 4


@final
@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """Tiles of one shape.

    Attributes:
        queries: Rows of q, a lane for each tile.
        keys: Rows of k and v, a lane for each tile.
        allowed: Decides what is read, by positions; None if every query reads all keys.
        alike: Whether all tiles share the mask of the first.
        fresh: Whether no step before has these queries.
    """

    queries: Lanes
    keys: Lanes
    allowed: Rule | None
    alike: bool
    fresh: bool

    @property
    def calls(self) -> int:
        """How many batched calls it is."""
        return 1

    @property
    def pairs(self) -> int:
        """How many pairs it multiplies."""
        return self.queries.lanes * self.queries.length * self.keys.length

    @property
    def pairs_ruled(self) -> int:
        """How many of its pairs need a mask."""
        return 0 if self.allowed is None else self.pairs

    @property
    def rows_read(self) -> int:
        """How many rows of q it reads."""
        return self.queries.lanes * self.queries.length

    @property
    def keys_read(self) -> int:
        """How many rows of k it reads; keys that all tiles share once."""
        shared = isinstance(self.keys, Even) and self.keys.hop == 0
        return self.keys.length if shared else self.keys.lanes * self.keys.length

    @property
    def keys_copied(self) -> int:
        """How many rows of k it copies first."""
        return self.keys_read if isinstance(self.keys, Scattered) else 0

    @property
    def keys_open(self) -> int:
        """How many keys stand in tiles that need no mask."""
        return self.keys.lanes * self.keys.length if self.allowed is None else 0

    @property
    def views(self) -> int:
        """Whether it reads k where it lies."""
        return int(isinstance(self.keys, Even))

    @property
    def mask_shared(self) -> int:
        """How many elements a mask has that serves all tiles."""
        return self.queries.length * self.keys.length if self.alike and self.pairs_ruled else 0

    @property
    def mask_own(self) -> int:
        """How many elements the masks of single tiles have."""
        return 0 if self.alike else self.pairs_ruled

    def slabs(self, most: int, rows: int) -> Iterator["Step"]:
        """Cut it into steps of at most `most` tiles, and tiles into some of at most `rows`."""
        if isinstance(self.queries, Even) and self.queries.length > rows:
            for start in range(0, self.queries.length, rows):
                queries = self.queries.narrow(start, min(start + rows, self.queries.length))
                narrow = Step(queries, self.keys, self.allowed, self.alike, self.fresh)
                yield from narrow.slabs(most, rows)
            return
        for start in range(0, self.queries.lanes, most):
            yield self.cut(start, min(start + most, self.queries.lanes))

    def cut(self, start: int, stop: int) -> "Step":
        """Return the tiles from `start` to before `stop`."""
        queries, keys = self.queries.cut(start, stop), self.keys.cut(start, stop)
        return Step(queries, keys, self.allowed, self.alike, self.fresh)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """All steps of a pattern, in order.

    Attributes:
        steps: The steps.
        merges: Whether some query stands in several steps.
    """

    steps: tuple[Step, ...]
    merges: bool

    @property
    def pairs(self) -> int:
        """How many pairs it multiplies."""
        return sum(step.pairs for step in self.steps)


@lru_cache(maxsize=256)
def plan(pattern: Pattern, n: int, m: int) -> Plan:
    """Return the steps for `n` queries and `m` keys, with tiles as wide as pays."""
    # Looking at a rule needs real numbers, also where tensors are fake.
    with _disable_current_modes():
        plans = [_plan(pattern, n, m, block) for block in _BLOCKS if block < 2 * n or block == 64]
    return min(plans, key=_price)


def _price(plan: Plan) -> float:
    """Return what to minimise: pairs multiplied, narrow tiles and small steps being dearer."""
    return sum(
        step.pairs * (1.0 if step.queries.length >= 192 else 1.25) + 20_000 for step in plan.steps
    )


def _plan(pattern: Pattern, n: int, m: int, block: int) -> Plan:
    steps, seen, merges = [], np.zeros(n, dtype=bool), False
    for part in pattern.parts(n, m, block):
        joined = _joined(tile for tile in part.tiles if tile.spans)
        for tiles in _disjoint(_alike(joined)):
            rows = [(_shifted(tile.queries, n - m),) for tile in tiles]
            fresh = not any(seen[r.start : r.stop : r.step].any() for (r,) in rows)
            for (r,) in rows:
                seen[r.start : r.stop : r.step] = True
            queries, keys = lanes_of(rows), lanes_of([_stretches(tile) for tile in tiles])
            full = all(span.full for tile in tiles for span in tile.spans)
            alike = part.relative and isinstance(queries, Even) and isinstance(keys, Even)
            alike = alike and queries.hop == keys.hop  # type: ignore[union-attr]
            steps.append(Step(queries, keys, None if full else part.allowed, alike, fresh))
            merges = merges or not fresh
    return Plan(tuple(steps), merges)


def _disjoint(groups: Iterator[list[Tile]]) -> Iterator[list[Tile]]:
    """Cut groups so that no query stands in two tiles of one."""
    for tiles in groups:
        start, taken = 0, set[int]()
        for at, tile in enumerate(tiles):
            if not taken.isdisjoint(tile.queries):
                yield tiles[start:at]
                start, taken = at, set()
            taken.update(tile.queries)
        yield tiles[start:]


def _shifted(rows: range, by: int) -> range:
    return range(rows.start + by, rows.stop + by, rows.step)


def _joined(tiles: Iterator[Tile]) -> Iterator[Tile]:
    """Join neighbours that read the same keys without exception."""
    last = None
    for tile in tiles:
        if last is not None and _continues(last, tile):
            joint = range(last.queries.start, tile.queries[-1] + 1, last.queries.step)
            last = Tile(joint, last.spans)
            continue
        if last is not None:
            yield last
        last = tile
    if last is not None:
        yield last


def _continues(tile: Tile, other: Tile) -> bool:
    rows, more = tile.queries, other.queries
    return (
        tile.spans == other.spans
        and all(span.full for span in tile.spans)
        and rows.step == more.step
        and more.start == rows[-1] + rows.step
    )


def _stretches(tile: Tile) -> tuple[range, ...]:
    """Return the keys of a tile; spans that go on where another ends are one stretch."""
    found: list[range] = []
    for keys in (span.keys for span in tile.spans):
        last = found[-1] if found else None
        if last is not None and _goes_on(last, keys):
            found[-1] = range(last.start, keys[-1] + 1, keys[0] - last[-1])
        else:
            found.append(range(keys.start, keys[-1] + 1, keys.step))
    return tuple(found)


def _goes_on(keys: range, more: range) -> bool:
    gap = more[0] - keys[-1]
    return gap > 0 and all(len(one) == 1 or one.step == gap for one in (keys, more))


def _alike(tiles: Iterator[Tile]) -> Iterator[list[Tile]]:
    """Cut tiles into runs of one shape that move on evenly; those that do not stay together."""
    for _, run in groupby(tiles, key=_shape):
        uneven: list[Tile] = []
        for even in _evenly(list(run)):
            if len(even) >= _FEW:
                if uneven:
                    yield uneven
                    uneven = []
                yield even
            else:
                uneven += even
        if uneven:
            yield uneven


def _evenly(tiles: list[Tile]) -> Iterator[list[Tile]]:
    """Cut tiles where they stop moving on evenly."""
    start, last = 0, None
    for at, (one, other) in enumerate(pairwise(tiles), start=1):
        hop = _hop(one, other)
        if last is not None and hop != last:
            yield tiles[start:at]
            # The first of the next run: how it is reached says nothing of how it moves on.
            start, hop = at, None
        last = hop
    yield tiles[start:]


def _shape(tile: Tile) -> tuple[int, ...]:
    keys = sum(len(span.keys) for span in tile.spans)
    full = all(span.full for span in tile.spans)
    return len(tile.queries), tile.queries.step, keys, len(_stretches(tile)) == 1, full


def _hop(tile: Tile, other: Tile) -> tuple[int, int, int]:
    """Return how queries and keys move on; keys in several stretches need not do so evenly."""
    queries = other.queries.start - tile.queries.start
    (one, *rest), another = _stretches(tile), _stretches(other)[0]
    return (queries, 0, 0) if rest else (queries, another.start - one.start, another.step)
