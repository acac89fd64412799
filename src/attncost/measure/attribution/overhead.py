"""How much longer a call takes under the profiler, from rounds with and without it in turn.

A timing under a profiler is no timing of the call; here it is one of the profiler. Starting it and
reading what it saw are left out: they come once, however often the call runs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import ClassVar, Final, final

import torch

from attncost.measure.attribution.ranges import Ranges
from attncost.measure.attribution.recorder import recording
from attncost.measure.clocks.clock import clock_for
from attncost.measure.clocks.interface import Clock, Run
from attncost.measure.sweep.interleaved import Ratio, interleave, ratio

_ALONE: Final = "alone"
_PROFILED: Final = "profiled"


@final
@dataclass(frozen=True, slots=True)
class Overhead:
    """What the profiler costs.

    Attributes:
        times: Time with it over time without, with its 95 % interval from 6 rounds on.
        alone_seconds: Median time of a call without it.
        clock: What timed both.
    """

    times: Ratio
    alone_seconds: float
    clock: str


def overhead(
    call: Run, ranges: Ranges, *, rounds: int, device: str, shapes: bool = False
) -> Overhead:
    """Time a call with and without the profiler.

    Args:
        call: What to time.
        ranges: Those of its modules, which are part of what profiling costs.
        rounds: How often each is timed, in turn.
        device: Where it runs.
        shapes: Whether shapes are recorded.
    """
    by = clock_for(device, torch.get_num_threads())

    def profiled() -> object:
        return call()

    def timed(repeats: int) -> float:
        with recording(lambda: ranges, device=device, shapes=shapes):
            call()  # The first one finds the profiler's own memory cold.
            return by.elapsed(call, repeats)

    samples = interleave(
        {_ALONE: call, _PROFILED: profiled},
        _Either(by, profiled, timed),
        rounds=rounds,
        wanted=lambda _: (_ALONE, _PROFILED),
    )
    times = ratio(samples, _PROFILED, _ALONE)
    return Overhead(times, median(samples[_ALONE].values()), by.name)


@final
class _Either(Clock):
    """Times one call under the profiler, and all others as they are."""

    __slots__ = ("_by", "_profiled", "_timed")
    name: ClassVar[str] = "the clock of the call"
    reason: ClassVar[str] = "the profiler starts before it does and stops after it has"
    device: ClassVar[str] = "any"

    def __init__(self, by: Clock, profiled: Run, timed: Callable[[int], float]) -> None:
        self._by, self._profiled, self._timed = by, profiled, timed

    def elapsed(self, call: Run, repeats: int) -> float:
        """Return the seconds of all repeats."""
        return self._timed(repeats) if call is self._profiled else self._by.elapsed(call, repeats)
