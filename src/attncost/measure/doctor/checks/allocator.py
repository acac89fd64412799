"""The allocator: a block beyond 32 MiB is given back at once, and every page of it faults anew.

Measured in fresh processes, one for each set of variables, which are asked in turn: what a process
inherits at its start cannot be changed later. Kept memory is not given back to other processes.
"""

import sys
from collections.abc import Callable, Mapping
from ctypes.util import find_library
from dataclasses import dataclass, field
from statistics import median
from typing import ClassVar, Final, final

from attncost.core.units import show
from attncost.measure.clocks.interface import Run
from attncost.measure.doctor.instruments import Comparison, Instruments
from attncost.measure.doctor.interface import Advice, Check, Diagnosis
from attncost.measure.doctor.patient import Patient
from attncost.measure.doctor.workers import Answer, Told, workers
from attncost.measure.host.pages import huge_pages
from attncost.measure.sweep.interleaved import ratio

_KEPT: Final = str(1 << 33)
_KEEPING: Final = {"MALLOC_MMAP_THRESHOLD_": _KEPT, "MALLOC_TRIM_THRESHOLD_": _KEPT}
_HUGE: Final = {"THP_MEM_ALLOC_ENABLE": "1"}  # PyTorch's own: blocks of 2 MiB and more
_TUNED: Final = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
_LIBRARIES: Final = ("tcmalloc", "tcmalloc_minimal", "jemalloc")
_NOW: Final = "as it is"
# Mapping fewer pages takes no time that a call of attention would notice.
_FEWEST: Final = 100


def _environments() -> tuple[Mapping[str, str], ...]:
    """Return the usual ones; libraries only where they are found."""
    found = filter(None, map(find_library, _LIBRARIES))
    preloaded = ({"LD_PRELOAD": library} for library in found)
    return (_HUGE, _TUNED, _KEEPING, {**_KEEPING, **_HUGE}, *preloaded)


@final
@dataclass(frozen=True, eq=False)
class Allocator(Check):
    """Naive attention, whose blocks are as large as they get.

    Attributes:
        environments: The sets of variables to try.
    """

    environments: tuple[Mapping[str, str], ...] = field(default_factory=_environments)
    asks: ClassVar[str] = "how much time goes into page faults of large blocks?"
    of_machine: ClassVar[bool] = True
    calls: ClassVar[float] = 30
    seconds: ClassVar[float] = 5.0
    blocks: ClassVar[float] = 30

    def answers(self, patient: Patient, instruments: Instruments) -> tuple[Diagnosis, ...]:
        """Ask a process for each set of variables in turn, and advise the best."""
        what = f"naive attention in a process of its own, {patient.length:,} tokens"
        if not sys.platform.startswith("linux"):
            reason = "the variables that are tried are those of Linux."
            return (self.unasked(what, "does not apply", reason),)
        wanted = {_spelled(one): one for one in self.environments}
        with workers("naive", patient, {_NOW: {}, **wanted}, left=instruments.left) as started:
            answers: dict[str, list[Answer]] = {name: [] for name in started}
            ways = {name: _way(ask, answers[name]) for name, ask in started.items()}
            picked = instruments.pick(ways, against=_NOW, clock=Told())
        best = picked.name
        found = Comparison(
            time=picked.time,
            clock=Told.name,
            bytes_now=_most(answers[_NOW], "bytes"),
            bytes_then=_most(answers[best], "bytes"),
        )
        before, after = (_usual(answers[name], "faults") for name in (_NOW, best))
        if before - after < _FEWEST:
            reason = f"{before:,} page faults a call, {after:,} at best: there are none to save."
            return (self.unasked(what, "fine", reason),)
        tried = ", ".join(
            f"{name} {show(ratio(picked.seen, _NOW, name).figure, 'times')}" for name in wanted
        )
        because = (
            f"{before:,} page faults a call, {after:,} at best; huge pages: "
            f"{huge_pages() or 'not told'}. At a first look: {tried}."
        )
        advice = Advice(
            do=f"export {best}",
            undo=f"unset {' '.join(wanted[best])}",
            because=because,
            fine=because,
        )
        return (self.judged(what, found, advice),)


def _spelled(variables: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in variables.items())


def _way(ask: Callable[[], Answer], answers: list[Answer]) -> Run:
    def run() -> float:
        answers.append(ask())
        return answers[-1]["seconds"]

    return run


def _most(answers: list[Answer], key: str) -> int:
    return round(max(answer[key] for answer in answers))


def _usual(answers: list[Answer], key: str) -> int:
    return round(median(answer[key] for answer in answers))
