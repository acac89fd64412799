"""Times of several calls in one process, in rounds that visit each of them in random order.

    ratio of two calls = median over rounds of time / time in the same round

A machine that is slow for a while slows a round, not one side of a ratio. The interval of the
median is that of `attncost.measure.store.summary`: it holds whatever the noise looks like. A short
call is timed several at once. What need not be known better is visited no more, so rounds differ; a
ratio takes those that both sides have.
"""

import random
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from statistics import median
from typing import final

from attncost.measure.clocks.interface import Clock, Run
from attncost.measure.clocks.repeats import repeats_for
from attncost.measure.store.summary import interval

# Seconds of each call, by the number of the round.
Samples = dict[str, dict[int, float]]


@final
@dataclass(frozen=True, slots=True)
class Ratio:
    """The time of one call over that of another.

    Attributes:
        figure: The median.
        low: Lower end of its 95 % interval, or the least ratio of fewer than 6.
        high: Upper end, or the greatest.
        rounds: How many rounds both calls were in.
    """

    figure: float
    low: float
    high: float
    rounds: int


def ratio(samples: Samples, one: str, other: str) -> Ratio:
    """Return how long one call takes as a multiple of another."""
    both = sorted(samples[one].keys() & samples[other].keys())
    found = [samples[one][i] / samples[other][i] for i in both]
    return Ratio(median(found), *interval(found), len(found))


def interleave(
    calls: Mapping[str, Run],
    clock: Clock,
    *,
    rounds: int,
    wanted: Callable[[Samples], Collection[str]],
    seed: int = 0,
) -> Samples:
    """Time every call once a round.

    Args:
        calls: What to time, by name.
        clock: How.
        rounds: The most rounds.
        wanted: Is asked before each round which of the calls still matter.
        seed: Of the order.
    """
    order = random.Random(seed)
    repeats = {name: repeats_for(call, clock)[-1][0] for name, call in calls.items()}
    samples: Samples = {name: {} for name in calls}
    for visit in range(rounds):
        names = sorted(wanted(samples))
        order.shuffle(names)
        for name in names:
            if repeats[name] > 1:
                # The call before left its own data in the caches, and here that would be felt.
                calls[name]()
            samples[name][visit] = clock.time(calls[name], repeats[name]).seconds
    return samples
