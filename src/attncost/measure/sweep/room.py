"""Whether a cell is expected to fit into the memory that is free, before anything of it is made.

    peak at n  ≤  peak at n' · (n / n')²     for n' < n: nothing here grows faster than the square

That bound costs nothing and is asked first. Where it says no, or nothing was measured yet, the call
is made without memory and run on fake tensors, see `attncost.memory`. A twentieth of what is free
is kept back, for what the allocator loses between blocks. What looks at numbers while it runs
cannot be asked, nor what fails, and is tried.
"""

from collections.abc import Callable, Mapping
from typing import Final

import torch

from attncost.core.units import show
from attncost.cost.memory.memory import memory
from attncost.measure.host.memory import free
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.modes import Timed
from attncost.measure.subjects.subject import Subject

_KEPT_BACK: Final = 20


def lack(subject: Subject, case: Case, peaks: Mapping[int, int]) -> str | None:
    """Return what a cell lacks to run, in words; None if it fits, or nobody can say.

    Args:
        subject: What would run.
        case: At which sizes.
        peaks: The most bytes that it held at once at other lengths of the same series, measured.
    """
    left = free(case.device)
    if left is None:
        return None
    left -= left // _KEPT_BACK
    if peaks and _bound(case.length, peaks) <= left:
        return None
    needed = _needed(subject, case)
    if needed is None or needed <= left:
        return None
    return f"needs {show(needed, 'bytes')}, {show(left, 'bytes')} are free"


def _bound(length: int, peaks: Mapping[int, int]) -> int:
    """Return what it holds at most by what was measured nearest."""
    last = max((n for n in peaks if n <= length), default=None)
    if last is None:
        return min(peaks.values())
    return -(-peaks[last] * length**2 // last**2)


def _needed(subject: Subject, case: Case) -> int | None:
    """Return what has to be taken for a call and all that is made for it."""
    try:
        with torch.device("meta"):
            call = subject.prepare(case)
        return _taken(call, case.device)
    except Exception:  # noqa: BLE001 -- theirs; it may run all the same, or become a row
        return None


def _taken(call: Callable[[], object], device: str) -> int:
    if not isinstance(call, Timed):
        return memory(call, device=device).above
    # What is there already takes nothing; what was made without memory must be made once more.
    made = {x.untyped_storage()._cdata: x.untyped_storage() for x in call.held if x.is_meta}
    return call.footprint(device).above + sum(storage.nbytes() for storage in made.values())
