"""How many calls make one sample, so that starting and reading the clock do not weigh.

    a sample >= 10 ms, or 100 ticks of a coarser clock

Time is that of the clock, or the time on the wall without waiting for a core, if that is longer: a
call that sleeps takes no CPU time, and would be repeated for ever.
"""

import math
from typing import Final

from attncost.measure.clocks.interface import Clock, Reading, Run

_ENOUGH_SECONDS: Final = 0.010
_ENOUGH_TICKS: Final = 100
# No call that is worth timing is shorter.
_SHORTEST: Final = 1e-6
# What only the first call does, such as mapping memory, does not weigh on one as long as this.
_LONG_SECONDS: Final = 1.0


def repeats_for(
    call: Run, clock: Clock, *, enough: float = _ENOUGH_SECONDS
) -> list[tuple[int, Reading]]:
    """Time more and more calls at once until they make a sample.

    Args:
        call: What is timed.
        clock: How.
        enough: Seconds of a sample.

    Returns:
        What was timed, with how many calls each; the last of them are the repeats.
    """
    enough = max(enough, _ENOUGH_TICKS * clock.resolution)
    most = math.ceil(enough / _SHORTEST)
    readings, repeats = [], 1
    while True:
        reading = clock.time(call, repeats)
        readings.append((repeats, reading))
        lasts = max(reading.seconds, reading.wall_seconds - reading.usage.waited_seconds)
        first = len(readings) == 1 and lasts < _LONG_SECONDS
        if repeats == most or (repeats * lasts >= enough and not first):
            return readings
        # Less than a tick reads as nothing; that is no reason to go straight to the most.
        needed = enough / lasts if reading.seconds > 0 else 10 * repeats
        grown = repeats if first else 2 * repeats
        repeats = math.ceil(min(most, max(grown, needed)))
