"""Where two ways are timed side by side, and when their difference is called a cost.

    costs          the 95 % interval of the ratio lies above 1.05, or memory is 1.25 x or more
    fine           it lies below 1.05: nothing to gain that would be felt
    cannot tell    it holds 1.05

The interval is looked at after 6 rounds and after the last, twice in all: a way that takes exactly
1.05 x is then called a cost in 3 of 100 cases. Memory is peak bytes of one call, told by the
allocator, which repeats exactly.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, final

from attncost.measure.clocks.clock import Clock, CpuClock, Run, WallClock
from attncost.measure.held.memory import MemoryMonitor
from attncost.measure.store.summary import FEWEST
from attncost.measure.sweep.interleaved import Ratio, Samples, interleave, ratio

FELT: Final = 1.05
_FELT_BYTES: Final = 1.25
# Scratch of a few pages may double and matters to nobody.
_LEAST_BYTES: Final = 1 << 20

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
        hurried: Says whether rounds beyond the fewest must be left out.
    """

    clock: Clock = field(default_factory=CpuClock)
    wall: Clock = field(default_factory=WallClock)
    memory: Callable[[Run], int] = _peak
    rounds: int = 15
    hurried: Callable[[], bool] = lambda: False

    def samples(
        self, calls: Mapping[str, Run], *, against: str, clock: Clock | None = None
    ) -> Samples:
        """Time calls in rounds, until each is told from one of them.

        Args:
            calls: What to time, by name.
            against: The name of the one that the others are compared with.
            clock: How, if not by the usual clock.
        """
        others = [name for name in calls if name != against]

        def wanted(found: Samples) -> Collection[str]:
            if len(found[against]) < FEWEST:
                return calls.keys()
            if self.hurried():
                return ()
            open_ones = [name for name in others if _open(found, against, name)]
            return (against, *open_ones) if open_ones else ()

        return interleave(calls, clock or self.clock, rounds=self.rounds, wanted=wanted)

    def compare(self, now: Run, then: Run, *, memory: bool = True) -> Comparison:
        """Compare how it is with how it would be.

        Args:
            now: As it is.
            then: With the remedy.
            memory: Whether to measure that, too.
        """
        # Its own call each, and before the times: a timing is never taken under a profiler.
        sizes = (self.memory(now), self.memory(then)) if memory else (None, None)
        found = self.samples({"now": now, "then": then}, against="now")
        return Comparison(
            time=ratio(found, "now", "then"),
            clock=self.clock.name,
            bytes_now=sizes[0],
            bytes_then=sizes[1],
        )


def _open(found: Samples, against: str, name: str) -> bool:
    """Say whether a call must be visited again: it is looked at once, after the fewest rounds."""
    if len(found[name]) < FEWEST or len(found[name]) > FEWEST:
        return True
    return judged(ratio(found, against, name)) == "cannot tell"
