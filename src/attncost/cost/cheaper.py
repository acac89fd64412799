"""Which of two models is cheaper at which length.

Where both costs are polynomials of the length, as `over_length` finds by counting at a few, every
length is compared. Windows and blocks bend them: then lengths that double are counted, and where
the cheaper one changes in between, the place is bisected.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, TypeAlias, final

import numpy as np

from attncost.core.counts import lengths
from attncost.core.errors import ShapeError
from attncost.cost.counting.counted import Counted
from attncost.cost.over_length import OverLength, over_length

CountAt: TypeAlias = Callable[[int], Counted]
Winner: TypeAlias = Literal["first", "second", "neither"]

_FEW: Final = (2, 3, 5, 64)
_FIRST: Final = 16
_FIELDS: Final = ("useful", "dense")


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


def cheaper(first: CountAt, second: CountAt, *, longest: int) -> Cheaper:
    """Compare two models over the length.

    Args:
        first: Counts one of them at a length.
        second: Counts the other.
        longest: The longest length to look at; at least 2.

    Raises:
        ShapeError: If one of them cannot be counted.
    """
    first, second = cache(first), cache(second)
    formulas = _formulas(first, second, longest)
    if formulas is not None:
        shortest = _FEW[0]
        found = [_every(*formulas, longest, field) for field in _FIELDS]
    else:
        shortest = min(_FIRST, longest)
        found = [_some(first, second, (shortest, longest), field) for field in _FIELDS]
    return Cheaper(
        shortest=shortest,
        longest=longest,
        every=formulas is not None,
        useful=found[0],
        dense=found[1],
    )


def _formulas(
    first: CountAt, second: CountAt, longest: int
) -> tuple[OverLength, OverLength] | None:
    if longest <= _FEW[-1]:
        return None
    try:
        return (
            over_length(first, lengths=(*_FEW, longest)),
            over_length(second, lengths=(*_FEW, longest)),
        )
    except ShapeError:  # it bends, or takes no such lengths
        return None


def _every(a: OverLength, b: OverLength, longest: int, field: str) -> tuple[Stretch, ...]:
    every = lengths(longest)[_FEW[0] - 1 :]
    flops = (getattr(one.core(every) + one.linear(every), field) for one in (a, b))
    signs = np.sign(np.subtract(*flops) + 0 * every)
    starts = [0, *np.flatnonzero(np.diff(signs)) + 1]
    return tuple(Stretch(start=int(every[at]), cheaper=_winner(int(signs[at]), 0)) for at in starts)


def _some(
    first: CountAt, second: CountAt, ends: tuple[int, int], field: str
) -> tuple[Stretch, ...]:
    def winner(n: int) -> Winner:
        return _winner(int(getattr(first(n), field)), int(getattr(second(n), field)))

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
