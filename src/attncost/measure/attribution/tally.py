"""Add up the time of rounds, by operator, module and kind of work, so that each sum is the total.

    total = time of the rounds themselves + time of spans in other threads meanwhile

On a GPU it is the time of the kernels instead. A machine that others use slows some rounds, and
what ran just then looks slow; so only the quickest quarter of the rounds is added up. Where others
never pause, each of those holds waiting for a core, too: nobody tells it from work.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Final, final

from attncost.measure.attribution.kinds import BETWEEN, OTHER
from attncost.measure.attribution.places import Place, places
from attncost.measure.attribution.spans import MODULE, OURS, ROUND, Nested, Span, nest

_QUICKEST: Final = 0.25
# Compiled code looks at each frame that it meets, our hooks among them, and computes nothing.
_LOOKUP: Final = "TorchDynamo Cache Lookup"


@final
@dataclass(slots=True)
class Sum:
    """Time in nanoseconds.

    Attributes:
        calls: How often.
        own: Time in nothing else that is listed beside it.
        whole: Time with all that is in it.
        backward: What of its own time lies in the backward pass.
    """

    calls: int = 0
    own: int = 0
    whole: int = 0
    backward: int = 0


@final
@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over rounds.

    Attributes:
        total: Nanoseconds.
        rounds: How many were added up.
        operators: By name and shapes; what is between them is not among them.
        modules: By name; "" is the whole.
        kinds: Nanoseconds by kind of work.
        elsewhere: Nanoseconds that belong to no module, by the reason.
        spans: What ran in the quickest round, and for which modules.
    """

    total: int
    rounds: int
    operators: dict[tuple[str, str], Sum]
    modules: dict[str, Sum]
    kinds: dict[str, int]
    elsewhere: dict[str, int]
    spans: tuple[tuple[Span, Place], ...]


@final
@dataclass(slots=True)
class _Round:
    """The spans of one round, by number."""

    spans: list[int] = field(default_factory=list)
    total: int = 0


def tally(spans: Sequence[Span], *, skipped: int = 0, on_gpu: bool = False) -> Tally:
    """Return what rounds took.

    Args:
        spans: All that was recorded.
        skipped: Rounds at the beginning that do not count.
        on_gpu: Whether the time of kernels is what counts.
    """
    nested = nest(spans)
    where = places(nested)
    time = [one.span.kernels if on_gpu else one.own for one in nested]
    rounds = list(_rounds(nested, time))[skipped:]
    kept = sorted(rounds, key=lambda one: one.total)[: ceil(len(rounds) * _QUICKEST)]
    adding = _Adding(nested, where, time)
    for one in kept:
        for number in one.spans:
            adding.add(number)
    return Tally(
        total=sum(one.total for one in kept),
        rounds=len(kept),
        operators=dict(adding.operators),
        modules=dict(adding.modules),
        kinds=dict(adding.kinds),
        elsewhere=dict(adding.elsewhere),
        spans=tuple((nested[i].span, where[i]) for i in kept[0].spans),
    )


def operators_of(spans: Sequence[Span], number: int) -> dict[str, int]:
    """Return how often each operator ran in one of the rounds."""
    found: dict[str, int] = defaultdict(int)
    nested = nest(spans)
    chosen = list(_rounds(nested, [one.own for one in nested]))[number]
    for name in (nested[i].span.name for i in chosen.spans):
        if not name.startswith((*OURS, _LOOKUP)):
            found[name] += 1
    return found


def _rounds(nested: Sequence[Nested], time: Sequence[int]) -> Iterator[_Round]:
    """Give each span to the round in which it began; what lies between rounds is no part of one."""
    begins = [one.span for one in nested if one.span.name == ROUND]
    starts = [span.start for span in begins]
    found = [_Round() for _ in begins]
    for number, one in enumerate(nested):
        at = bisect_right(starts, one.span.start) - 1
        if at >= 0 and one.span.start < begins[at].end:
            found[at].spans.append(number)
            found[at].total += time[number]
    yield from found


@final
class _Adding:
    """Adds spans up one by one."""

    def __init__(
        self, nested: Sequence[Nested], where: Sequence[Place], time: Sequence[int]
    ) -> None:
        self._nested, self._where, self._time = nested, where, time
        self._within: Final = list(time)
        for number in range(len(nested) - 1, -1, -1):
            if nested[number].parent >= 0:
                self._within[nested[number].parent] += self._within[number]
        self.operators: Final[defaultdict[tuple[str, str], Sum]] = defaultdict(Sum)
        self.modules: Final[defaultdict[str, Sum]] = defaultdict(Sum)
        self.kinds: Final[defaultdict[str, int]] = defaultdict(int)
        self.elsewhere: Final[defaultdict[str, int]] = defaultdict(int)

    def add(self, number: int) -> None:
        """Add one span to all sums."""
        span, place, time = self._nested[number].span, self._where[number], self._time[number]
        ours = span.name.startswith(OURS)
        self.kinds[BETWEEN if ours else place.kind or OTHER] += time
        if not ours:
            self._operator(number)
        if span.name.startswith(MODULE):
            self.modules[place.modules[-1]].calls += 1
        if not place.modules:
            self.elsewhere[place.reason] += time
            return
        own = self.modules[place.modules[-1]]
        own.own += time
        own.backward += time if place.backward else 0
        for name in set(place.modules):
            self.modules[name].whole += time

    def _operator(self, number: int) -> None:
        span = self._nested[number].span
        found = self.operators[span.name, span.shapes]
        found.calls += 1
        found.own += self._time[number]
        if not any(above == span.name for above in self._above(number)):
            found.whole += self._within[number]

    def _above(self, number: int) -> Iterator[str]:
        """Yield the names of all that a span lies in, so that recursion counts once."""
        parent = self._nested[number].parent
        while parent >= 0:
            yield self._nested[parent].span.name
            parent = self._nested[parent].parent
