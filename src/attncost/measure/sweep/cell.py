"""One cell of a sweep: one subject at one length, made ready and then sampled.

A call shorter than 10 ms, or than 100 ticks of a coarser clock, is timed several at once, so that
starting and reading the clock do not weigh; what was timed to find out how many is kept and
flagged as warm-up.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, final

import torch

from attncost.measure.clocks.clock import Clock, Reading, Run
from attncost.measure.held.memory import MemoryMonitor
from attncost.measure.sweep.case import Case
from attncost.measure.sweep.subject import Subject

_ENOUGH_SECONDS: Final = 0.010
_ENOUGH_TICKS: Final = 100
_MOST_REPEATS_A_SECOND: Final = 100_000

Record = Callable[[Mapping[str, Any]], None]


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Cell:
    """A subject in a case, ready to be sampled.

    Attributes:
        subject: What runs.
        case: At which sizes, and how.
        call: What is timed.
        repeats: How many calls make one sample.
        seconds: What one sample is expected to take.
        columns: What all its rows share.
    """

    subject: Subject
    case: Case
    call: Run
    repeats: int
    seconds: float
    columns: Mapping[str, Any]


def ready(subject: Subject, case: Case, *, clock: Clock, record: Record) -> Cell:
    """Warm up, find out how many calls make a sample, and measure the memory of one."""
    call = subject.prepare(case)
    readings = _warm(call, clock)
    with MemoryMonitor(clock.device) as meter:
        call()
    predicted = subject.predict(case)
    columns = {
        "kind": "sample",
        "subject": subject.name,
        "labels": dict(subject.labels),
        **asdict(case),
        "peak_bytes": meter.peak,
        "linear_flops": predicted.linear,
        "core_flops": predicted.core,
        "bytes": predicted.bytes,
    }
    for repeats, reading in readings:
        record(columns | _timing(0, repeats, reading, warmup=True))
    repeats, reading = readings[-1]
    return Cell(
        subject=subject,
        case=case,
        call=call,
        repeats=repeats,
        seconds=repeats * reading.seconds,
        columns=columns,
    )


def sample(cell: Cell, visit: int, *, clock: Clock) -> dict[str, Any]:
    """Return one row of a ready cell."""
    if cell.repeats > 1:
        # The cell before left its own data in the caches, and here that would be felt.
        cell.call()
    reading = clock.time(cell.call, cell.repeats)
    return {**cell.columns, **_timing(visit, cell.repeats, reading, warmup=False)}


def lack_of_memory(error: Exception) -> str | None:
    """Return what the allocator said if that is what the error is about."""
    said = str(error).partition("\n")[0]
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return f"out of memory: {said}"
    _, allocator, said = said.partition("DefaultCPUAllocator: ")
    return f"out of memory: {said}" if allocator and "memory" in said else None


def _warm(call: Run, clock: Clock) -> list[tuple[int, Reading]]:
    """Time more and more calls at once until they make a sample."""
    enough = max(_ENOUGH_SECONDS, _ENOUGH_TICKS * clock.resolution)
    most = round(enough * _MOST_REPEATS_A_SECOND)
    readings, repeats = [], 1
    while True:
        reading = clock.time(call, repeats)
        readings.append((repeats, reading))
        if repeats * reading.seconds >= enough or repeats == most:
            return readings
        # Less than a tick reads as nothing; that is no reason to go straight to the most.
        needed = enough / reading.seconds if reading.seconds > 0 else 10 * repeats
        repeats = math.ceil(min(most, max(2 * repeats, needed)))


def _timing(visit: int, repeats: int, reading: Reading, *, warmup: bool) -> dict[str, Any]:
    return {
        "round": visit,
        "warmup": warmup,
        "repeats": repeats,
        "seconds": reading.seconds,
        "wall_seconds": reading.wall_seconds,
        **asdict(reading.usage),
    }
