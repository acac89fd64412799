"""The allocator: a block beyond 32 MiB is given back at once, and every page of it faults anew.

Measured in fresh processes, one for each set of variables, which are asked in turn: what a process
inherits at its start cannot be changed later. Kept memory is not given back to other processes.
"""

import sys
from collections.abc import Mapping
from ctypes.util import find_library
from statistics import median
from typing import ClassVar, Final, final

from attncost.core.units import show
from attncost.measure.clocks.clock import Run
from attncost.measure.doctor.instruments import Comparison, Instruments
from attncost.measure.doctor.interface import Advice, Check, Diagnosis
from attncost.measure.doctor.machine import huge_pages
from attncost.measure.doctor.patient import Patient
from attncost.measure.doctor.workers import Answer, Told, Worker, workers
from attncost.measure.sweep.interleaved import ratio

_KEPT: Final = str(1 << 33)
_KEEPING: Final = {"MALLOC_MMAP_THRESHOLD_": _KEPT, "MALLOC_TRIM_THRESHOLD_": _KEPT}
_HUGE: Final = {"THP_MEM_ALLOC_ENABLE": "1"}  # PyTorch's own: blocks of 2 MiB and more
_TUNED: Final = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
_LIBRARIES: Final = ("tcmalloc", "tcmalloc_minimal", "jemalloc")
_NOW: Final = "as it is"


@final
class Allocator(Check):
    """Naive attention, whose blocks are as large as they get."""

    asks: ClassVar[str] = "how much time goes into page faults of large blocks?"
    calls: ClassVar[float] = 30
    seconds: ClassVar[float] = 5.0
    blocks: ClassVar[float] = 30

    def answers(self, patient: Patient, instruments: Instruments) -> tuple[Diagnosis, ...]:
        """Ask a process for each set of variables in turn, and advise the best."""
        what = f"naive attention in a process of its own, {patient.length:,} tokens"
        if not sys.platform.startswith("linux"):
            reason = "the variables that are tried are those of Linux."
            return (self.unasked(what, "does not apply", reason),)
        wanted = {_spelled(one): one for one in _environments()}
        with workers("naive", patient, {_NOW: {}, **wanted}) as started:
            answers: dict[str, list[Answer]] = {name: [] for name in started}
            calls = {name: _call(one, answers[name]) for name, one in started.items()}
            samples = instruments.samples(calls, against=_NOW, clock=Told())
        ratios = {name: ratio(samples, _NOW, name) for name in wanted}
        best = max(ratios, key=lambda name: ratios[name].figure)
        found = Comparison(
            time=ratios[best],
            clock=Told.name,
            bytes_now=_most(answers[_NOW], "bytes"),
            bytes_then=_most(answers[best], "bytes"),
        )
        before, after = (_usual(answers[name], "faults") for name in (_NOW, best))
        tried = ", ".join(f"{name} {show(ratios[name].figure, 'times')}" for name in wanted)
        because = (
            f"{before:,} page faults a call, {after:,} at best; huge pages: "
            f"{huge_pages() or 'not told'}. Faster by: {tried}."
        )
        advice = Advice(
            do=f"export {best}",
            undo=f"unset {' '.join(wanted[best])}",
            because=because,
            fine=because,
        )
        return (self.judged(what, found, advice),)


def _environments() -> tuple[Mapping[str, str], ...]:
    """Return what to try: libraries only where they are found."""
    found = filter(None, map(find_library, _LIBRARIES))
    preloaded = ({"LD_PRELOAD": library} for library in found)
    return (_HUGE, _TUNED, _KEEPING, {**_KEEPING, **_HUGE}, *preloaded)


def _spelled(variables: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in variables.items())


def _call(worker: Worker, answers: list[Answer]) -> Run:
    def run() -> float:
        answers.append(worker.ask())
        return answers[-1]["seconds"]

    return run


def _most(answers: list[Answer], key: str) -> int:
    return round(max(answer[key] for answer in answers))


def _usual(answers: list[Answer], key: str) -> int:
    return round(median(answer[key] for answer in answers))
