"""One cell of a sweep: one subject in one case, made ready and then sampled.

A short call is timed several at once; what was timed to find out how many is kept and flagged as
warm-up. Training runs with gradients, all else in inference mode.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any, Final, TypeAlias, final

import torch

from attncost.measure.clocks.interface import Clock, Reading, Run
from attncost.measure.clocks.repeats import repeats_for
from attncost.measure.held.memory import MemoryMonitor
from attncost.measure.subjects.case import Case, Mode
from attncost.measure.subjects.subject import Subject

_BRIEF_SECONDS: Final = 0.1

Row: TypeAlias = Mapping[str, Any]
Record: TypeAlias = Callable[[Row], None]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What was found out when a cell was made ready.

    Attributes:
        repeats: How many calls make one sample.
        peak: The most memory that one call held at once, in bytes.
    """

    repeats: int
    peak: int


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Cell:
    """A subject in a case, ready to be sampled.

    Attributes:
        subject: What runs.
        case: At which sizes, and how.
        call: What is timed.
        repeats: How many calls make one sample.
        brief: Whether a sample is so short that cold caches would be felt.
        columns: What all its rows share.
    """

    subject: Subject
    case: Case
    call: Run
    repeats: int
    brief: bool
    columns: Row


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Ready:
    """What making a cell ready gave.

    Attributes:
        rows: What was timed meanwhile.
        known: What need not be found out again.
        seconds: What one sample is expected to take.
    """

    rows: tuple[Row, ...]
    known: Known
    seconds: float


def ready(
    subject: Subject, case: Case, call: Run, *, clock: Clock, known: Known | None
) -> tuple[Cell, Ready]:
    """Warm up, find out how many calls make a sample, and measure the memory of one.

    Args:
        subject: What runs.
        case: At which sizes, and how.
        call: What is timed.
        clock: What times a call.
        known: What an earlier process found out, which is then not asked again.
    """
    with running(case.mode):
        if known is None:
            readings = repeats_for(call, clock)
            with MemoryMonitor(clock.device) as meter:
                call()
            known = Known(repeats=readings[-1][0], peak=meter.peak)
        else:
            readings = [(known.repeats, clock.time(call, known.repeats))]
    predicted = subject.predict(case)
    columns = {
        "kind": "sample",
        **identity(subject, case),
        "peak_bytes": known.peak,
        "linear_flops": predicted.linear,
        "core_flops": predicted.core,
        "bytes": predicted.bytes,
    }
    last = readings[-1][1]
    seconds = known.repeats * max(last.seconds / case.threads, last.wall_seconds)
    rows = tuple(columns | _timing(0, n, reading, warmup=True) for n, reading in readings)
    cell = Cell(
        subject=subject,
        case=case,
        call=call,
        repeats=known.repeats,
        brief=seconds < _BRIEF_SECONDS,
        columns=columns,
    )
    return cell, Ready(rows=rows, known=known, seconds=seconds)


def sample(cell: Cell, visit: int, *, clock: Clock) -> Row:
    """Return one row of a ready cell."""
    with running(cell.case.mode):
        if cell.brief:
            # The cell before left its own data in the caches, and here that would be felt: weights
            # of 512 features that come from memory make a call of 10 ms 2 to 4 % slower.
            cell.call()
        reading = clock.time(cell.call, cell.repeats)
    return {**cell.columns, **_timing(visit, cell.repeats, reading, warmup=False)}


def identity(subject: Subject, case: Case) -> dict[str, Any]:
    """Return the columns that say which cell a row is of."""
    return {"subject": subject.name, "labels": dict(subject.labels), **asdict(case)}


def running(mode: Mode) -> AbstractContextManager[None]:
    """Return the context in which a call of a mode runs."""
    grad: AbstractContextManager[None] = torch.enable_grad()
    return grad if mode == "training" else torch.inference_mode()


def lack_of_memory(error: BaseException) -> str | None:
    """Return what the allocator said if that is what the error is about."""
    said = str(error).partition("\n")[0]
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return f"out of memory: {said}" if said else "out of memory"
    _, allocator, said = said.partition("DefaultCPUAllocator: ")
    return f"out of memory: {said}" if allocator and "memory" in said else None


def _timing(visit: int, repeats: int, reading: Reading, *, warmup: bool) -> dict[str, Any]:
    return {
        "round": visit,
        "warmup": warmup,
        "repeats": repeats,
        "seconds": reading.seconds,
        "wall_seconds": reading.wall_seconds,
        **asdict(reading.usage),
    }
