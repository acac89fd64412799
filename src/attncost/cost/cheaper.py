"""Which of two models is cheaper at which length.

A model has a cost at every length if the formula of its sizes agrees with what is counted, or if
`over_length` finds a polynomial by counting at a few. Where both models have one, every length is
compared. Windows and blocks bend the others: then lengths that double are counted, and where the
cheaper one changes in between, the place is bisected; what changes twice in between is missed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, TypeAlias, final

import numpy as np

from attncost.core.cost import Cost
from attncost.core.counts import Count, lengths
from attncost.core.errors import ShapeError
from attncost.cost.counting.counted import Counted
from attncost.cost.over_length import over_length

Formula: TypeAlias = Callable[[Count], Cost]
Winner: TypeAlias = Literal["first", "second", "neither"]

_FEW: Final = (2, 3, 5, 64)
_FIRST: Final = 16
_FIELDS: Final = ("useful", "dense")


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """A model to compare.

    Attributes:
        counted: Counts it at a length.
        formula: What its sizes say that it costs, if they are understood.
        checked: A length at which to check the formula, beside the longest one.
    """

    counted: Callable[[int], Counted]
    formula: Formula | None = None
    checked: int = _FEW[-1]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """Lengths at which one is cheaper.

    Attributes:
        start: The first of them; the last is the one before the next stretch.
        cheaper: Whether the `first` or the `second` model is, or `neither`.
    """

    start: int
    cheaper: Winner


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Cheaper:
    """What a comparison over the length found.

    Attributes:
        shortest: The first length that was looked at.
        longest: The last one.
        every: Whether all lengths between were, or only some.
        useful: Stretches by useful FLOPs.
        dense: Stretches by FLOPs without any mask.
    """

    shortest: int
    longest: int
    every: bool
    useful: tuple[Stretch, ...]
    dense: tuple[Stretch, ...]


def cheaper(first: Compared, second: Compared, *, longest: int) -> Cheaper:
    """Compare two models over the length.

    Args:
        first: One of them.
        second: The other.
        longest: The longest length to look at; at least 2.

    Raises:
        ShapeError: If one of them cannot be counted.
    """
    counts = [cache(one.counted) for one in (first, second)]
    formulas = [
        _formula(count_at, one, longest)
        for count_at, one in zip(counts, (first, second), strict=True)
    ]
    every = all(formulas)
    shortest = _FEW[0] if every else min(_FIRST, longest)
    costs = [
        formula or _by_counting(count_at)
        for formula, count_at in zip(formulas, counts, strict=True)
    ]
    look = _every if every else _some
    useful, dense = look(costs[0], costs[1], (shortest, longest))
    return Cheaper(shortest=shortest, longest=longest, every=every, useful=useful, dense=dense)


def _formula(count_at: Callable[[int], Counted], model: Compared, longest: int) -> Formula | None:
    """Return the cost at every length, if there is such a formula."""
    if longest <= _FEW[0]:
        return None
    said = model.formula
    if said is not None and all(
        _same(count_at(n), said(n)) for n in (min(model.checked, longest), longest)
    ):
        return said
    if longest <= _FEW[-1]:
        return None
    try:
        found = over_length(count_at, lengths=(*_FEW, longest))
    except ShapeError:  # it bends, or takes no such lengths
        return None
    return lambda n: found.core(n) + found.linear(n)


def _same(counted: Counted, cost: Cost) -> bool:
    return all(getattr(counted, field) == getattr(cost, field) for field in _FIELDS)


def _by_counting(count_at: Callable[[int], Counted]) -> Formula:
    def at(n: Count) -> Cost:
        counted = count_at(n)
        return Cost(useful=counted.useful, dense=counted.dense)

    return at


def _every(a: Formula, b: Formula, ends: tuple[int, int]) -> list[tuple[Stretch, ...]]:
    low, longest = ends
    every = lengths(longest)[low - 1 :]
    costs = (a(every), b(every))
    found = []
    for field in _FIELDS:
        signs = np.sign(np.subtract(*(getattr(cost, field) for cost in costs)) + 0 * every)
        starts = [0, *np.flatnonzero(np.diff(signs)) + 1]
        found.append(
            tuple(
                Stretch(start=int(every[at]), cheaper=_winner(int(signs[at]), 0)) for at in starts
            )
        )
    return found


def _some(a: Formula, b: Formula, ends: tuple[int, int]) -> list[tuple[Stretch, ...]]:
    return [_doubling(a, b, ends, field) for field in _FIELDS]


def _doubling(a: Formula, b: Formula, ends: tuple[int, int], field: str) -> tuple[Stretch, ...]:
    def winner(n: int) -> Winner:
        return _winner(int(getattr(a(n), field)), int(getattr(b(n), field)))

    low, longest = ends
    found = [Stretch(start=low, cheaper=winner(low))]
    while low < longest:
        high = min(2 * low, longest)
        now = winner(high)
        if now != found[-1].cheaper:
            found.append(Stretch(start=_first_of(winner, low, high), cheaper=now))
        low = high
    return tuple(found)


def _first_of(winner: Callable[[int], Winner], low: int, high: int) -> int:
    """Return where the winner of `high` begins to win, by bisection from a length it loses."""
    now = winner(high)
    while high - low > 1:
        middle = (low + high) // 2
        if winner(middle) == now:
            high = middle
        else:
            low = middle
    return high


def _winner(a: int, b: int) -> Winner:
    return "first" if a < b else "second" if b < a else "neither"
