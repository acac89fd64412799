"""Which way to batch texts is the cheapest, and with which dials: all are priced, none is run.

Padding costs as slots do, and as pairs. Packing pads nothing, and costs the squares of its texts
where attention takes each by itself, but the square of the whole row under a dense document mask. A
call costs something by itself, and many slots may be slow: so there is a best size in between. It
is looked for among the dials that a way finds worth trying, and then around the best of each way,
beyond its greatest dials too.

Of a great many texts a part that chance draws is enough to set the dials; all texts are then priced
with the best dials of every way.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, SupportsIndex, cast, final

from attncost.batches.interface import Batching
from attncost.batches.machine import Documents, Machine
from attncost.batches.memory import Limit
from attncost.batches.nearby import around, beyond
from attncost.batches.priced import Priced, Pricing
from attncost.batches.reasons import reason, told
from attncost.batches.ways import load, names
from attncost.batches.ways.padded import Padded
from attncost.core.errors import ShapeError
from attncost.core.notebook import as_html
from attncost.core.units import show
from attncost.cost.interface import SequenceCost

# What people begin with, and what a choice is compared to.
USUAL: Final = Padded(32)

# So many texts are enough to set the dials.
PART: Final = 20_000
# So often dials nearer the best of a way are tried, which count if they save so much.
_ROUNDS: Final = 3
_SAVED: Final = 0.995


@final
@dataclass(frozen=True, slots=True)
class LeftOut:
    """A way that is not among the choices.

    Attributes:
        way: The way with its dials.
        why: The reason, in words.
        slots: Slots of its largest batch, if that is beyond the limit.
    """

    way: Batching
    why: str
    slots: int = 0


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """The cheapest way to batch given texts.

    Attributes:
        best: The cheapest.
        tried: It and all others, cheapest first.
        usual: What it is compared to: padded batches of 32 texts, or what was asked for.
        left_out: What was not priced to the end, or is beyond the limit.
        reason: Why the best one is cheaper than the usual one.
    """

    _repr_html_ = as_html

    best: Priced
    tried: tuple[Priced, ...]
    usual: Priced
    left_out: tuple[LeftOut, ...]
    reason: str


def choose_batching(
    lengths: Iterable[SupportsIndex],
    cost: SequenceCost,
    machine: Machine | None,
    *,
    documents: Documents | None = "apart",
    ways: str | Batching | Iterable[str | Batching] | None = None,
    limit: Limit | None = None,
    order: Sequence[int] | None = None,
    usual: Batching = USUAL,
    part: int = PART,
) -> Choice:
    """Return the cheapest way to batch texts.

    Args:
        lengths: Tokens of each text.
        cost: Of one sequence; `Configuration.reading` gives that with another pattern.
        machine: Says the seconds that decide. Without one the executed FLOPs do, and of ways with
            equally many the one with fewer batches.
        documents: How attention takes packed texts; None if it cannot keep them apart.
        ways: Names of ways, each with all dials that it finds worth trying, or ways with their
            dials, one or several; every way if left out.
        limit: Says why a way is out of the question, such as `in_memory` and `at_most`.
        order: Numbers of the texts as they come; shuffled by a fixed seed if left out.
        usual: What the best one is compared to.
        part: Of more texts than these, so many set the dials.

    Raises:
        ShapeError: If there is no text with tokens, no way is left, or an argument is none.
        UnknownName: If there is no way of a name.
    """
    if not isinstance(usual, Batching):
        raise ShapeError(f"usual must be a way to batch, such as Padded(32), got {usual!r}.")
    how = "apart" if documents is None else documents
    pricing = Pricing(lengths, cost, machine=machine, documents=how, order=order)
    grid, left_out = _grid(ways, pricing.lengths, packs=documents is not None)
    search = _Search(pricing, limit, left_out)
    if len(pricing.order) > part:
        sampling = _Search(pricing.of_some(part), limit, left_out)
        sampling.all_of(grid)
        search.best_of(grid, sampling.by_price(usual))
    else:
        search.all_of(grid)
    tried = search.by_price(usual)
    if not tried:
        raise ShapeError(_nothing(left_out))
    base = next((one for one in tried if one.way == usual), None) or pricing.of(usual)
    return Choice(
        best=tried[0],
        tried=tried,
        usual=base,
        left_out=tuple(left_out),
        reason=reason(tried[0], base, tried),
    )


@final
@dataclass(frozen=True, slots=True)
class _Grid:
    """The ways to try.

    Attributes:
        ways: All of them.
        open: Those that may have other dials, too.
    """

    ways: tuple[Batching, ...]
    open: tuple[type[Batching], ...]


def _grid(ways: object, lengths: tuple[int, ...], *, packs: bool) -> tuple[_Grid, list[LeftOut]]:
    """Return the ways to try, and those that are out of the question."""
    given = _given(ways)
    kinds = list(dict.fromkeys(load(way) for way in given if isinstance(way, str)))
    found = [way for way in given if isinstance(way, Batching)]
    found += [way for kind in kinds for way in kind.dials(lengths)]
    why = "needs attention that keeps the texts of a row apart"
    left_out = [LeftOut(way, why) for way in found if way.packs and not packs]
    kept = tuple(way for way in found if packs or not way.packs)
    return _Grid(kept, tuple(kinds)), left_out


def _given(ways: object) -> tuple[str | Batching, ...]:
    if ways is None:
        return tuple(names())
    several = isinstance(ways, Iterable) and not isinstance(ways, str)
    given = tuple(cast("Iterable[object]", ways)) if several else (ways,)
    found = tuple(one for one in given if isinstance(one, str | Batching))
    if len(found) == len(given):
        return found
    wrong = next(one for one in given if not isinstance(one, str | Batching))
    raise ShapeError(
        "ways must be names of ways or ways to batch, such as ['padded', Packed(2048)], got "
        f"{wrong!r}: leave ways= out to try all."
    )


@final
class _Search:
    """What was tried so far, and what was left out."""

    __slots__ = ("_left_out", "_limit", "_pricing", "_tried")

    def __init__(self, pricing: Pricing, limit: Limit | None, left_out: list[LeftOut]) -> None:
        self._pricing, self._limit, self._left_out = pricing, limit, left_out
        self._tried: list[Priced] = []

    def by_price(self, usual: Batching) -> tuple[Priced, ...]:
        """Return what was tried, cheapest first, and of equals what people know best."""

        def rank(one: Priced) -> tuple[object, ...]:
            return (one.price, one.calls, one.way != usual, type(one.way) is not type(usual))

        return tuple(sorted(self._tried, key=rank))

    def all_of(self, grid: _Grid) -> None:
        """Try all ways of a grid, and what lies around the best of each kind."""
        for way in grid.ways:
            self._tries(way)
        for kind in grid.open:
            self._refine(kind, [way for way in grid.ways if type(way) is kind])

    def _refine(self, kind: type[Batching], known: list[Batching]) -> None:
        """Try what lies around the best dials of a kind.

        Args:
            kind: The class of the ways.
            known: Those that were tried.
        """
        rounds = 0
        while rounds < _ROUNDS:
            alike = [one for one in self._tried if type(one.way) is kind]
            best = min(alike, key=lambda one: (one.price, one.calls), default=None)
            # FLOPs alone know of no call that costs something: they have no best size.
            if best is None or best.seconds is None:
                return
            further = beyond(best.way, known)
            saved = [self._saves(way, best.seconds) for way in further]
            if not any(saved):
                rounds += 1
                between = around(best.way, known)
                for way in between:
                    self._saves(way, best.seconds)
                known += between
            known += further

    def _saves(self, way: Batching, seconds: float) -> bool:
        """Say whether a way is within the limit and saves enough to be one of those tried."""
        one = self._pricing.of(way)
        if (self._limit and self._limit(one)) or one.price >= _SAVED * seconds:
            return False
        self._tried.append(one)
        return True

    def best_of(self, grid: _Grid, part: Sequence[Priced]) -> None:
        """Try the cheapest dials of each way that are within the limit, and all that were given.

        Args:
            grid: Says which were not given.
            part: What ways cost on a part of the texts, cheapest first.
        """
        for one in part:
            kind = type(one.way)
            if kind not in grid.open or all(type(other.way) is not kind for other in self._tried):
                self._tries(one.way)
                continue
            share = show(one.price / part[0].price, "times")
            why = f"takes {share} as much as the best on {len(one.order):,} of the texts"
            self._left_out.append(LeftOut(one.way, why))

    def _tries(self, way: Batching) -> None:
        found = self._pricing.of(way)
        why = self._limit(found) if self._limit else None
        if why is None:
            self._tried.append(found)
        else:
            self._left_out.append(LeftOut(way, why, found.most_slots))


def _nothing(left_out: list[LeftOut]) -> str:
    """Say why no way is left."""
    beyond = [one for one in left_out if one.slots]
    if beyond:
        least = min(beyond, key=lambda one: one.slots)
        return (
            f"no way to batch is within the limit: even {told(least.way)} {least.why}; allow more, "
            "or cut long texts into `pieces` before."
        )
    if left_out:
        return (
            f"no way to batch is left: {told(left_out[0].way)} {left_out[0].why}; add a way that "
            "does not pack to ways=, or leave that out."
        )
    return "ways must hold the name of one way or more, got none: leave ways= out to try all."
