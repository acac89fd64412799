"""What the operating system has counted for this process: time, waiting, faults, switches.

A page fault maps a page of fresh memory; a switch takes the core away, or is asked for by whoever
waits. Waiting for a core is what Linux counts of each thread in `/proc/self/task/*/schedstat`; of a
thread that ends in between it is lost. To ask takes 15 us and 8 us for each thread, outside what a
clock times, though within `cpu_seconds`.
"""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Final, final

_TASKS: Final = "/proc/self/task"
_LONGEST_LINE: Final = 100
_NANO: Final = 1e-9
# Waiting of a twentieth of the time is as much as the error that a law forgives.
_DISTURBED: Final = 0.05


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """Counts since the process began, or between two moments, or their share of one call.

    Attributes:
        cpu_seconds: Time of all threads on a core.
        waited_seconds: Time that threads were ready and had no core; 0 where nobody counts it.
        minor_faults: Pages that were mapped without reading a disk.
        major_faults: Pages that were read from one.
        switches: How often a thread left its core, willingly or not.
    """

    cpu_seconds: float
    waited_seconds: float
    minor_faults: float
    major_faults: float
    switches: float

    @classmethod
    def now(cls) -> "Usage":
        """Ask the operating system."""
        cpu, waited = time.process_time(), _NANO * sum(waited for _, waited in _schedules())
        try:
            from resource import RUSAGE_SELF, getrusage  # noqa: PLC0415 -- not on Windows
        except ImportError:
            return cls(
                cpu_seconds=cpu, waited_seconds=waited, minor_faults=0, major_faults=0, switches=0
            )
        used = getrusage(RUSAGE_SELF)
        return cls(
            cpu_seconds=cpu,
            waited_seconds=waited,
            minor_faults=used.ru_minflt,
            major_faults=used.ru_majflt,
            switches=used.ru_nvcsw + used.ru_nivcsw,
        )

    def since(self, before: "Usage", *, calls: int) -> "Usage":
        """Return what each of so many calls took since another moment."""
        spent = {
            one.name: max(0.0, (getattr(self, one.name) - getattr(before, one.name)) / calls)
            for one in fields(self)
        }
        return Usage(**spent)


def waited_share(waited_seconds: float, wall_seconds: float) -> float:
    """Return waiting in parts of the time in which it happened.

    >>> waited_share(0.5, 2.0), waited_share(0.0, 0.0)
    (0.25, 0.0)
    """
    return waited_seconds / wall_seconds if wall_seconds > 0 else 0.0


def disturbed(waited_seconds: float, wall_seconds: float) -> bool:
    """Say whether others took the cores for so long that a time may say more of them."""
    return waited_share(waited_seconds, wall_seconds) > _DISTURBED


def counts_waiting() -> bool:
    """Say whether waiting for a core is counted here; a kernel that does not writes zeros."""
    return any(ran > 0 for ran, _ in _schedules())


def _schedules() -> Iterator[tuple[int, int]]:
    """Yield the nanoseconds for which each thread has run and has waited."""
    try:
        threads = os.listdir(_TASKS)  # noqa: PTH208 -- pathlib takes three times as long
    except OSError:
        return
    for thread in threads:
        try:
            file = os.open(f"{_TASKS}/{thread}/schedstat", os.O_RDONLY)
            try:
                ran, waited, _ = os.read(file, _LONGEST_LINE).split()
            finally:
                os.close(file)
            yield int(ran), int(waited)
        except (OSError, ValueError):
            continue  # The thread has ended since, or this kernel does not count it.
