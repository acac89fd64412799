"""What a clock is: something that times calls, and says what it counts and why it is used."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.measure.clocks.usage import Usage
from attncost.measure.held.allocator import profiling

Run = Callable[[], object]


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """The time of one call, the mean of those that were timed together.

    Attributes:
        seconds: By the clock that was asked.
        wall_seconds: By the clock on the wall, what the clock itself does around a call included.
        usage: What the operating system counted meanwhile.
    """

    seconds: float
    wall_seconds: float
    usage: Usage


class Clock(ABC):
    """A way to time calls.

    Attributes:
        name: What it counts.
        reason: Why it is used.
        device: Where the work that it times runs, `cpu` or `cuda`.
        resolution: Seconds between two values that it can take; 0 if it takes every value.
    """

    __slots__ = ()
    name: ClassVar[str]
    reason: ClassVar[str]
    device: ClassVar[str]
    resolution: ClassVar[float] = 0.0

    @abstractmethod
    def elapsed(self, call: Run, repeats: int) -> float:
        """Return the seconds that all repeats took together."""

    @final
    def time(self, call: Run, repeats: int) -> Reading:
        """Return the time of one call, from several in a row.

        Raises:
            ShapeError: If there is no repeat.
            UnsupportedOption: If a profiler is running, whose own work would be timed as well.
        """
        if repeats < 1:
            raise ShapeError(f"repeats must be at least 1, got {repeats}.")
        if profiling():
            raise UnsupportedOption(
                "a call cannot be timed while a profiler or memory monitor is running: leave it "
                "first."
            )
        before, start = Usage.now(), time.perf_counter()
        seconds = self.elapsed(call, repeats)
        wall_seconds = time.perf_counter() - start
        usage = Usage.now().since(before, calls=repeats)
        return Reading(seconds / repeats, wall_seconds / repeats, usage)
