"""Times of several ways to put the same texts into batches, side by side.

All ways are visited in rounds, in an order that changes, and each is compared with the first one
within a round; see `attncost.measure.sweep.interleaved`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, TypeAlias, final

from attncost.core.errors import ShapeError
from attncost.measure.clocks.interface import Clock, Run
from attncost.measure.clocks.threads import threads
from attncost.measure.speed.sampling import Progress
from attncost.measure.sweep.interleaved import Ratio, Samples, interleave, ratio

Wanted: TypeAlias = Callable[[Samples], Collection[str]]

# Rounds from which an interval of 95 % is narrow, and those without which there is none.
_ROUNDS: Final = 15
_FEWEST: Final = 3


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class WayTime:
    """What one way takes.

    Attributes:
        name: Of the way.
        seconds: Of a pass over all texts, the median of the rounds.
        ratio: To the first way.
        texts: How many there are.
        tokens: Of all texts.
    """

    name: str
    seconds: float
    ratio: Ratio
    texts: int
    tokens: int


def time_ways(
    calls: Mapping[str, Run],
    clock: Clock,
    *,
    lengths: Sequence[int],
    seconds: float,
    progress: Progress = lambda _: None,
) -> tuple[WayTime, ...]:
    """Time every way on the same texts, on one thread.

    Args:
        calls: One pass over all texts for each way, by its name; others are compared with the
            first.
        clock: How.
        lengths: Tokens of each text.
        seconds: By this clock that all rounds may take; a few are made anyway, and before them
            each way runs twice.
        progress: Is told how far it is, from 0 to 1.

    Raises:
        ShapeError: If there is no way, or no token.
    """
    if not calls or not sum(lengths):
        raise ShapeError(
            f"ways are timed on texts with tokens, got {len(calls)} ways and {sum(lengths)} tokens."
        )
    with threads(1):
        samples = interleave(
            calls, clock, rounds=_ROUNDS, wanted=_within(seconds, calls.keys(), progress)
        )
    progress(1.0)
    first = next(iter(calls))
    return tuple(
        WayTime(
            name=name,
            seconds=median(samples[name].values()),
            ratio=ratio(samples, name, first),
            texts=len(lengths),
            tokens=sum(lengths),
        )
        for name in calls
    )


def _within(seconds: float, names: Collection[str], progress: Progress) -> Wanted:
    """Return what wants all ways in every round until the time is spent."""

    def wanted(samples: Samples) -> Collection[str]:
        made = min(map(len, samples.values()))
        spent = sum(sum(found.values()) for found in samples.values())
        progress(min(1.0, max(made / _ROUNDS, spent / seconds if seconds > 0 else 1.0)))
        # The next round takes as long as those before it.
        return names if made < _FEWEST or spent * (made + 1) / made <= seconds else ()

    return wanted
