"""Where two ways are timed side by side, and when their difference is called a cost.

    costs          the 95 % interval of the ratio lies above 1.05, or memory is 1.25 x or more
    fine           it lies below 1.05: nothing to gain that would be felt
    cannot tell    it holds 1.05

The interval is looked at after 6 rounds and after the last, twice in all: a way that takes exactly
1.05 x is then called a cost in 3 of 100 cases. Of several ways the fastest is picked in rounds of
their own, whose luck is not in the ratio. Memory is peak bytes of one call, told by the allocator,
which repeats exactly.
"""

import math
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, final

from attncost.core.units import show
from attncost.measure.clocks.clock import CpuClock, WallClock
from attncost.measure.clocks.interface import Clock, Run
from attncost.measure.doctor.patient import Patient
from attncost.measure.doctor.probe import Probe
from attncost.measure.held.memory import MemoryMonitor
from attncost.measure.host.memory import free
from attncost.measure.store.summary import FEWEST
from attncost.measure.sweep.interleaved import Ratio, Samples, interleave, ratio

FELT: Final = 1.05
_FELT_BYTES: Final = 1.25
# Scratch of a few pages may double and matters to nobody.
_LEAST_BYTES: Final = 1 << 20
# Enough to tell ways apart that differ; of those that do not, any may be picked.
_PILOT: Final = 4

Judgement: TypeAlias = Literal["costs", "fine", "cannot tell"]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """One way beside its remedy.

    Attributes:
        time: Time of the first over that of the second.
        clock: What counted it.
        bytes_now: Peak memory of the first; None if it was not asked for.
        bytes_then: Peak memory of the second.
    """

    time: Ratio
    clock: str
    bytes_now: int | None = None
    bytes_then: int | None = None

    @property
    def verdict(self) -> Judgement:
        """What that means."""
        return "costs" if self._takes_memory() else judged(self.time)

    @property
    def reason(self) -> str:
        """Why, where nothing is advised."""
        if self.verdict == "fine":
            return f"the other way is not {FELT:g} x as fast."
        if self.time.rounds < FEWEST:
            return f"{self.time.rounds} rounds promise nothing; {FEWEST} are the fewest that do."
        return f"the interval holds {FELT:g}: noise hides whether anything is to be gained."

    @property
    def trade(self) -> str:
        """What the other way does to time, in a sentence, where it is advised for memory alone."""
        if self.verdict != "costs" or judged(self.time) == "costs":
            return ""
        if self.time.high < 1:
            slower = show(1 / self.time.figure, "times")
            return f"Advised for memory alone: it takes {slower} the time."
        return "Advised for memory alone: it is not known to save time."

    def _takes_memory(self) -> bool:
        if self.bytes_now is None or self.bytes_then is None:
            return False
        beyond = self.bytes_now - self.bytes_then
        return beyond >= _LEAST_BYTES and self.bytes_now >= _FELT_BYTES * self.bytes_then


def judged(time: Ratio) -> Judgement:
    """Say what a ratio of times means.

    >>> judged(Ratio(1.4, 1.06, 1.9, 6)), judged(Ratio(0.9, 0.8, 1.04, 6))
    ('costs', 'fine')
    >>> judged(Ratio(1.4, 1.04, 1.9, 6)), judged(Ratio(1.4, 1.3, 1.5, 5))
    ('cannot tell', 'cannot tell')
    """
    if time.rounds < FEWEST or time.low <= FELT <= time.high:
        return "cannot tell"
    return "costs" if time.low > FELT else "fine"


@final
@dataclass(frozen=True, slots=True)
class Pick:
    """The fastest of several ways, and how it compares.

    Attributes:
        name: Its name.
        time: Time as it is over its time, in rounds that had no part in picking it.
        seen: Seconds of every way, in the rounds that picked it.
    """

    name: str
    time: Ratio
    seen: Samples


def _peak(call: Run) -> int:
    with MemoryMonitor("cpu") as meter:
        call()
    return meter.peak


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Instruments:
    """How things are measured.

    Attributes:
        clock: What times a call on one thread.
        wall: What times a call on several.
        memory: Returns the peak bytes of a call.
        rounds: The most rounds of a comparison.
        now: Returns the seconds by which a budget is kept.
        left: Returns the seconds of it that are left; below 0 only the fewest rounds are made.
        free: Returns the bytes that can be taken here; None if nobody says.
        probe: Returns the seconds of one naive attention at a length of 256.
    """

    clock: Clock = field(default_factory=CpuClock)
    wall: Clock = field(default_factory=WallClock)
    memory: Callable[[Run], int] = _peak
    rounds: int = 15
    now: Callable[[], float] = time.monotonic
    left: Callable[[], float] = lambda: math.inf
    free: Callable[[], int | None] = free
    probe: Callable[[Patient], float] = field(default_factory=Probe)

    def compare(self, now: Run, then: Run, *, memory: bool = True) -> Comparison:
        """Compare how it is with how it would be.

        Args:
            now: As it is.
            then: With the remedy.
            memory: Whether to measure that, too.
        """
        # Its own call each, and before the times: a timing is never taken under a profiler.
        sizes = (self.memory(now), self.memory(then)) if memory else (None, None)
        return Comparison(
            time=self._ratio(now, then, self.clock),
            clock=self.clock.name,
            bytes_now=sizes[0],
            bytes_then=sizes[1],
        )

    def pick(self, ways: Mapping[str, Run], *, against: str, clock: Clock) -> Pick:
        """Pick the fastest of several ways, then compare it anew with one of them.

        Args:
            ways: What to time, by name.
            against: The name of how it is, which is not picked.
            clock: How to time.
        """
        seen = interleave(ways, clock, rounds=_PILOT, wanted=lambda _: ways.keys())
        ratios = {name: ratio(seen, against, name).figure for name in ways if name != against}
        best = max(ratios, key=ratios.__getitem__)
        return Pick(best, self._ratio(ways[against], ways[best], clock), seen)

    def _ratio(self, now: Run, then: Run, clock: Clock) -> Ratio:
        """Time two calls until they are told apart, or there are no more rounds."""

        def wanted(found: Samples) -> Collection[str]:
            done = len(found["now"])
            if done < FEWEST:
                return found.keys()
            told = done == FEWEST and judged(ratio(found, "now", "then")) != "cannot tell"
            return () if told or self.left() < 0 else found.keys()

        found = interleave({"now": now, "then": then}, clock, rounds=self.rounds, wanted=wanted)
        return ratio(found, "now", "then")
