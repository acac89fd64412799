"""Which of two costs is less at every length, when one of them is known only by making a plan.

    low <= cost(n) <= high for a <= n <= b: if the bounds of both lie apart, all lengths are settled

What a kernel multiplies in tiles of one width never falls when a token is added, and `folded` takes
tiles of one of two widths; what a plan moves besides masks never falls by half. Neither is proved:
both are laws that the tests hold every pattern to. A length that bounds do not settle is worked
out, so nothing else is assumed.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias, final

import numpy as np

from attncost.core.counts import Count, Lengths, ceil_div
from attncost.core.options import Options
from attncost.cost.block import BlockSizes
from attncost.kernels.folded import Folded
from attncost.kernels.interface import Call, Kernel, Work
from attncost.patterns.interface import Pattern

# The widths of tiles that `folded` chooses from.
WIDTHS: Final = (64, 256)
# The bytes of a plan without masks may fall to one of so many parts when tokens are added.
FALL: Final = 2
# As how many spans of keys a plan itself counts.
_PLAN: Final = 20

Worked: TypeAlias = Literal["executed", "bytes"]


class _Bounds(NamedTuple):
    low: int
    high: int


class _Held(NamedTuple):
    pairs: int
    spans: int


@final
@dataclass(slots=True)
class WorkedOut:
    """A cost that a kernel knows at one length at a time.

    Attributes:
        pattern: What is read.
        kernel: What computes it.
        block: The sizes.
        measure: The field of the cost.
        effort: How many spans plans have had so far, and some for each plan.
    """

    pattern: Pattern
    kernel: Kernel
    block: BlockSizes
    measure: Worked
    effort: int = 0
    _made: dict[int, Work] = field(default_factory=dict)

    def at(self, n: int) -> int:
        """Return the cost at one length."""
        work = self._work(n)
        return int(work.bytes) if self.measure == "bytes" else int(work.pairs) * self._flops(work)

    def bounds(self, first: int, last: int) -> _Bounds:
        """Return between which values it lies from the first length to the last."""
        if first == last:
            return _Bounds(self.at(first), self.at(first))
        if self.measure == "bytes":
            return self._bytes_between(first, last)
        if not isinstance(self.kernel, Folded):
            return _Bounds(self.at(first), self.at(last))
        flops = self._flops(self._work(1))
        low, high = self._held(first), self._held(last)
        return _Bounds(low.low * flops, high.high * flops)

    def _bytes_between(self, first: int, last: int) -> _Bounds:
        """Bound masks by the pairs in tiles, and all the rest by how little it falls."""
        dims = self.block.dims(1)
        masks = self._held(last).high * ceil_div(dims.heads, dims.kv_heads)
        low, high = (self.at(n) - self._masks(self._work(n).masked) for n in (first, last))
        return _Bounds(low // FALL, high * FALL + self._masks(masks))

    def _work(self, n: int) -> Work:
        if n not in self._made:
            self.effort += _PLAN + held(self.pattern, n, WIDTHS[0]).spans
            self._made[n] = self.kernel.work(Call(self.pattern, self.block.dims(n), Options()))
        return self._made[n]

    def _flops(self, work: Work) -> int:
        """Return the FLOPs of a pair in all heads."""
        dims = self.block.dims(1)
        return int(2 * dims.batch * dims.heads * (work.head_dim + work.value_dim))

    def _masks(self, elements: Count) -> int:
        """Return the bytes of masks, written and read."""
        return int(2 * elements * self.block.dims(1).itemsize)

    def _held(self, n: int) -> _Bounds:
        pairs = [held(self.pattern, n, width).pairs for width in WIDTHS]
        return _Bounds(min(pairs), max(pairs))


@lru_cache(maxsize=1 << 15)
def held(pattern: Pattern, n: int, width: int) -> _Held:
    """Return how many pairs lie in the tiles of a pattern, read or not, and in how many spans."""
    tiles = [tile for part in pattern.parts(n, n, width) for tile in part.tiles]
    pairs = sum(len(queries) * sum(len(keys) for keys, _ in spans) for queries, spans in tiles)
    return _Held(pairs, sum(len(spans) for _, spans in tiles))


def cheaper_at(
    mine: Lengths | WorkedOut, theirs: Lengths | WorkedOut, limit: int, *, effort: int
) -> "np.ndarray[Any, np.dtype[np.bool_]]":
    """Return at which lengths one cost is less than another: of 1, 2, ... as far as effort goes.

    Args:
        mine: The one, at every length or worked out.
        theirs: The other.
        limit: The longest length to look at.
        effort: How many spans of keys plans may have in all.
    """
    wins = np.zeros(limit, dtype=bool)
    # Short lengths first, as a plan for long ones takes long.
    starts = [1 << power for power in range(limit.bit_length())]
    stretches = [(start, min(2 * start - 1, limit)) for start in reversed(starts)]
    while stretches:
        first, last = stretches.pop()
        if _effort(mine) + _effort(theirs) > effort:
            return wins[: first - 1]
        one, other = (_bounds(cost, first, last) for cost in (mine, theirs))
        if one.high < other.low:
            wins[first - 1 : last] = True
        elif one.low < other.high:
            middle = (first + last) // 2
            stretches += [(middle + 1, last), (first, middle)]
    return wins


def _effort(cost: Lengths | WorkedOut) -> int:
    return cost.effort if isinstance(cost, WorkedOut) else 0


def _bounds(cost: Lengths | WorkedOut, first: int, last: int) -> _Bounds:
    if isinstance(cost, WorkedOut):
        return cost.bounds(first, last)
    some = cost[first - 1 : last]
    return _Bounds(int(some.min()), int(some.max()))
