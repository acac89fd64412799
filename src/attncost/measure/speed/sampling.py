"""Timing of many short calls in rounds, until the time for it is spent.

Every round visits all of them in another order, so that a slow while of a shared machine slows no
family alone. A call runs once before it is timed: what lay in the caches was another one's.
"""

import math
import random
from collections.abc import Callable, Collection, Mapping
from statistics import median
from typing import Final, TypeAlias

from attncost.core.errors import ShapeError
from attncost.measure.clocks.interface import Clock, Run
from attncost.measure.clocks.repeats import repeats_for

# Takes the share that is done, from 0 to 1.
Progress: TypeAlias = Callable[[float], None]

_ENOUGH_SECONDS: Final = 0.002
_STEADY_SECONDS: Final = 0.012
# What the caches hold does not weigh on a call as long as this.
_LONG_SECONDS: Final = 0.008
_FEWEST_ROUNDS: Final = 5
_MOST_ROUNDS: Final = 9
# The median of a few samples spreads less than one of them, and its deviation more than 1.48 MADs.
_DEVIATIONS: Final = 1.4826


def sampled(
    calls: Mapping[str, Run],
    clock: Clock,
    *,
    budget: float,
    progress: Progress,
    steady: Collection[str] = (),
) -> dict[str, list[float]]:
    """Return the seconds of each call, a sample a round.

    Args:
        calls: What to time, by name.
        clock: How.
        budget: Seconds by this clock after which no round begins; some rounds are made anyway.
        progress: Is told how far it is.
        steady: Calls that are timed for longer, until they feel nothing of what ran before.

    Raises:
        ShapeError: If there is no time at all.
    """
    if not budget > 0:
        raise ShapeError(f"a calibration takes more than 0 seconds, got {budget:g}.")
    order, names = random.Random(0), list(calls)
    spent, repeats, expected = 0.0, {}, {}
    for name in names:
        enough = _STEADY_SECONDS if name in steady else _ENOUGH_SECONDS
        readings = repeats_for(calls[name], clock, enough=enough)
        spent += sum(number * one.seconds for number, one in readings)
        repeats[name], last = readings[-1]
        expected[name] = last.seconds
    samples: dict[str, list[float]] = {name: [] for name in names}
    for visit in range(_MOST_ROUNDS):
        if visit >= _FEWEST_ROUNDS and spent >= budget * (visit / (visit + 1)):
            break
        order.shuffle(names)
        for name in names:
            warm = expected[name] < _LONG_SECONDS
            if warm:
                calls[name]()
            seconds = clock.time(calls[name], repeats[name]).seconds
            samples[name].append(seconds)
            spent += seconds * (repeats[name] + warm)
        progress(min(1.0, max((visit + 1) / _MOST_ROUNDS, spent / budget)))
    progress(1.0)
    return samples


def spread(samples: list[float]) -> float:
    """Return the relative standard deviation of the median of samples."""
    middle = median(samples)
    if len(samples) < 2 or not middle:
        return 0.0
    off = median(abs(one - middle) for one in samples) / middle
    return _DEVIATIONS * off * math.sqrt(math.pi / (2 * len(samples)))
