"""Where one attention is cheaper than another: by FLOPs that are useful or executed, bytes, memory.

    1 <= n <= limit, every one: kernels round to tiles, so costs are sawtooths that cross many times

A kernel that works by a plan has no formula, and each plan is made in Python. So the lengths are
halved until bounds of both costs say which is less, and only where they do not a plan is made; see
`worked_out` for the bounds. Where that takes too long the answer says how far it reaches.
"""

from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, final

import numpy as np

from attncost.core.counts import Count, Lengths, ceil_div, is_counted, lengths, symbol
from attncost.core.notebook import as_html
from attncost.core.options import Options
from attncost.cost.block import BlockSizes, core_cost
from attncost.cost.derivation import searchable
from attncost.cost.peak import peak_elements
from attncost.cost.worked_out import WorkedOut, cheaper_at
from attncost.kernels.interface import Call, Kernel
from attncost.kernels.reference import Reference
from attncost.kernels.sdpa import Sdpa
from attncost.mechanisms.interface import Priced
from attncost.patterns.interface import Pattern

Measure: TypeAlias = Literal["useful", "executed", "bytes", "memory"]
# At every length, at one at a time, or not at all.
_Known: TypeAlias = Lengths | WorkedOut | None

# Spans of keys that the plans for one measure may have in all: some seconds.
EFFORT: Final = 200_000
MEASURES: Final[tuple[Measure, ...]] = ("useful", "executed", "bytes", "memory")


@final
@dataclass(frozen=True, slots=True)
class Contender:
    """An attention to compare.

    Attributes:
        attention: The pattern or the approximation.
        kernel: What computes a pattern; if left out, the definition, which multiplies no pair in
            vain, moves every tensor once, and says nothing of memory. One by name is
            `attncost.kernels.kernel("folded")`, the one that `attention` would run
            `attncost.kernels.choose.best(pattern, block.dims(length))`.

    >>> from attncost import Window
    >>> from attncost.kernels import kernel
    >>> Contender(Window(256), kernel("sdpa")).attention
    Window(width=256, ahead=0)
    """

    attention: Pattern | Priced
    kernel: Kernel | None = None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Crossing:
    """Where one cost lies below another, of all lengths from 1 to the longest.

    Attributes:
        first: The first length at which it does; None if there is none.
        lasting: The length from which it does up to the longest; None if it does not there.
        times: How often it begins or ceases to.
        longest: The longest length that was looked at.

    >>> found = Crossing(first=65, lasting=257, times=3, longest=4096)
    >>> found.lasting is not None and found.lasting <= 1024  # is it cheaper from 1,024 on?
    True
    """

    _repr_html_ = as_html

    first: int | None
    lasting: int | None
    times: int
    longest: int


def crossovers(
    cheap: Contender,
    dear: Contender,
    block: BlockSizes,
    *,
    limit: int = 1 << 14,
    effort: int = EFFORT,
) -> dict[Measure, Crossing | None]:
    """Return by each measure where one attention is cheaper than another between the projections.

    Memory is the most elements at once in a layer around it, as `peak_elements` counts them, a mask
    included. It has no formula for approximations, the definition, and kernels other than
    `reference` and `sdpa`: None.

    Args:
        cheap: The one that is expected to win on long sequences.
        dear: The one that it is compared with.
        block: The sizes of the layer.
        limit: The longest length to look at, in tokens; pairs that can only be counted one by one,
            and plans that take long, are looked at less far.
        effort: How many spans of keys plans may have in all for one measure, before it is told how
            far they reached; the usual ones take some seconds.

    >>> from attncost import Causal, Full, Window
    >>> sizes = BlockSizes(d_model=512, heads=8)
    >>> found = crossovers(Contender(Window(256)), Contender(Causal()), sizes, limit=4096)
    >>> found["useful"]
    Crossing(first=257, lasting=257, times=1, longest=4096)
    """
    limit = min(searchable(one.attention, longest=limit) for one in (cheap, dear))
    found = {}
    for measure in MEASURES:
        mine, theirs = (_cost(one, block, measure, limit) for one in (cheap, dear))
        found[measure] = _crossing(mine, theirs, limit=limit, effort=effort)
    return found


def crossing(wins: Any) -> Crossing:  # noqa: ANN401 -- an array of booleans
    """Return what is said of lengths 1, 2, ... by whether each is won.

    >>> crossing(np.array([False, True, False, False, True, True]))
    Crossing(first=2, lasting=5, times=3, longest=6)
    """
    won, lost = np.flatnonzero(wins) + 1, np.flatnonzero(~wins) + 1
    lasting = int(lost[-1]) + 1 if lost.size else 1
    return Crossing(
        first=int(won[0]) if won.size else None,
        lasting=lasting if lasting <= len(wins) else None,
        times=int(np.count_nonzero(wins[1:] != wins[:-1])),
        longest=len(wins),
    )


def _crossing(mine: _Known, theirs: _Known, *, limit: int, effort: int) -> Crossing | None:
    if mine is None or theirs is None:
        return None
    if isinstance(mine, WorkedOut) or isinstance(theirs, WorkedOut):
        return crossing(cheaper_at(mine, theirs, limit, effort=effort))
    return crossing((mine < theirs).astype(bool))


def _cost(one: Contender, block: BlockSizes, measure: Measure, limit: int) -> _Known:
    every = lengths(limit)
    if measure == "memory":
        known = _memory(one, block, every)
        if known is None:
            return None
    elif measure == "useful" or one.kernel is None or isinstance(one.attention, Priced):
        known = getattr(core_cost(one.attention, block, length=every), measure)
    else:
        known = _of_kernel(one.attention, one.kernel, block, measure, every)
        if known is None:
            return WorkedOut(one.attention, one.kernel, block, measure)
    # A cost may be the same at every length.
    settled: Lengths = known + 0 * every
    return settled


def _of_kernel(
    pattern: Pattern, kernel: Kernel, block: BlockSizes, measure: Measure, every: Lengths
) -> Count | None:
    """Return a field of a kernel's cost at every length; None if plans have to be made for it."""
    n = symbol("n")
    cost = kernel.cost(pattern, block.dims(n))
    if not is_counted(cost.executed) and not is_counted(cost.bytes):
        return getattr(kernel.cost(pattern, block.dims(every)), measure)
    formula = getattr(cost, measure)
    # Asking for the whole cost would make all plans, though this field needs none.
    if formula.is_polynomial(n):
        terms = formula.as_poly(n).terms()
        return sum(int(factor) * every**power for (power,), factor in terms)
    return None


def _memory(one: Contender, block: BlockSizes, n: Count) -> Count | None:
    """Return what is held at once, if there is a formula."""
    attention, kernel = one.attention, one.kernel
    if isinstance(attention, Priced) or not isinstance(kernel, Reference | Sdpa):
        return None
    layer = replace(block, hidden=None, gated=False)
    peak = peak_elements(layer, length=n, keeps_weights=isinstance(kernel, Reference))
    if isinstance(kernel, Reference):
        return peak
    dims = block.dims(n)
    masked = kernel.work(Call(attention, dims, Options())).masked
    # As numbers, and as booleans of a byte each.
    return peak + masked + ceil_div(masked, dims.itemsize)
