"""What the operating system has counted for this process: time, waiting, faults, switches.

A page fault maps a page of fresh memory; a switch takes the core away, or is asked for by whoever
waits. Waiting for a core is what Linux counts of each thread in `/proc/self/task/*/schedstat`.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final, final

_TASKS: Final = Path("/proc/self/task")
_NANO: Final = 1e-9


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
        cpu, waited = time.process_time(), sum(_waits()) * _NANO
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


def counts_waiting() -> bool:
    """Say whether waiting for a core is counted here."""
    return any(True for _ in _waits())


def _waits() -> Iterator[int]:
    """Yield the nanoseconds that each thread has waited."""
    for task in _TASKS.glob("*/schedstat"):
        try:
            yield int(task.read_text("ascii").split()[1])
        except (OSError, IndexError, ValueError):
            continue  # The thread has ended since, or this kernel does not count it.
