"""The visit: every check that the time allows, one after the other, and all that was switched back.

What is not run is an answer as well, with its reason; nothing is dropped in silence. A check is run
if it is expected to end in time: one naive attention is timed at a short length to find that out.
Long checks go first, for what is then left over is enough for short ones.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from subprocess import SubprocessError
from typing import Final

import torch

from attncost.core.errors import ShapeError, UnknownName
from attncost.core.units import show
from attncost.measure.doctor import checks
from attncost.measure.doctor.instruments import Instruments
from attncost.measure.doctor.interface import Check, Diagnosis
from attncost.measure.doctor.machine import available_memory
from attncost.measure.doctor.patient import Patient
from attncost.measure.doctor.state import unchanged
from attncost.measure.sweep.attends import naive
from attncost.measure.sweep.interleaved import one_thread
from attncost.measure.sweep.sweep import Progress

BUDGET: Final = 60.0
_LENGTHS: Final = (2048, 1024, 512, 256)
_SHORT: Final = 256
# Blocks beyond 32 MiB fault; and so much longer than at a short length it takes for each pair.
_LARGE: Final = 1.5
_FLOAT32: Final = 4
_GROUND: Final = 1 << 28

# What a check may meet on a machine that nobody has seen: a bug of it must not hide other answers.
FAILURES: Final = (
    RuntimeError,
    MemoryError,
    OSError,
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    SubprocessError,
)


def run_doctor(
    patient: Patient,
    *,
    budget: float = BUDGET,
    only: Sequence[str] | None = None,
    instruments: Instruments | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
) -> tuple[Diagnosis, ...]:
    """Return what the checks find out, those that take longest first.

    Args:
        patient: Whom to examine; without a length, as `sized` would choose it.
        budget: Seconds after which no check begins.
        only: Names of the checks to run; all, if left out.
        instruments: How to measure.
        progress: Is told what is done next.

    Raises:
        UnknownName: If there is no such check.
    """
    start, wanted = time.monotonic(), chosen(only)

    def left() -> float:
        return budget - (time.monotonic() - start)

    instruments = instruments or Instruments(hurried=lambda: left() < 0)
    with unchanged(), one_thread():
        short = _short(patient, instruments)
        if not patient.length:
            patient = _fitted(patient, wanted, short, budget)
        expected = {one: expects(one, patient, short) for one in wanted}
        total, done = sum(expected.values()), 0.0
        found: list[Diagnosis] = []
        for one in sorted(wanted, key=lambda check: (-expected[check], check.name)):
            progress(Progress(f"checking {one.name}", done, total))
            reason = _refused(one, patient, expected[one], left())
            found += _refusal(one, reason) if reason else _examined(one, patient, instruments)
            done += expected[one]
    return tuple(found)


def sized(
    patient: Patient,
    *,
    budget: float = BUDGET,
    only: Sequence[str] | None = None,
    instruments: Instruments | None = None,
) -> Patient:
    """Return the patient with a length: its own, or the longest that all checks have time for.

    Raises:
        ShapeError: If the budget is no time.
        UnknownName: If there is no such check.
    """
    if not budget > 0:
        raise ShapeError(f"budget must be a positive number of seconds, got {budget}.")
    wanted = chosen(only)
    if patient.length:
        return patient
    with unchanged(), one_thread():
        return _fitted(patient, wanted, _short(patient, instruments or Instruments()), budget)


def chosen(only: Sequence[str] | None) -> tuple[Check, ...]:
    """Return the checks of these names, or all.

    Raises:
        UnknownName: If there is no such check.
    """
    names = checks.names()
    for name in only or ():
        if name not in names:
            raise UnknownName("check", name, names)
    return tuple(checks.check(name) for name in dict.fromkeys(only or names))


def _fitted(patient: Patient, wanted: Sequence[Check], short: float, budget: float) -> Patient:
    longest = patient.longest or max(_LENGTHS)
    for length in _LENGTHS:
        patient = replace(patient, length=min(length, longest))
        if sum(expects(one, patient, short) for one in wanted) <= budget:
            break
    return patient


def expects(check: Check, patient: Patient, short: float) -> float:
    """Return the seconds that a check is expected to take.

    Args:
        check: The check.
        patient: The sizes.
        short: Seconds of one naive attention of these heads at a length of 256.
    """
    return check.seconds + check.calls * short * _LARGE * (patient.length / _SHORT) ** 2


def _short(patient: Patient, instruments: Instruments) -> float:
    """Time one naive attention at the shortest length, after a first call."""
    q = replace(patient, length=_SHORT).features_of_heads()
    with torch.inference_mode():
        naive(q, q, q)
        return instruments.clock.time(lambda: naive(q, q, q), 3).seconds


def _refused(check: Check, patient: Patient, expected: float, left: float) -> str:
    """Say why a check cannot be run, if it cannot."""
    needed = _GROUND + check.blocks * _FLOAT32 * patient.heads * patient.length**2
    there = available_memory()
    if there is not None and needed > there:
        return (
            f"it would hold {show(needed, 'bytes')}, there are {show(there, 'bytes')}: take a "
            "shorter --length."
        )
    if expected > left:
        return (
            f"it would take about {show(expected, 'seconds')}, {show(max(0.0, left), 'seconds')} "
            "are left: --budget allows more, a shorter --length takes less."
        )
    return ""


def _examined(check: Check, patient: Patient, instruments: Instruments) -> Sequence[Diagnosis]:
    try:
        return check.examine(patient, instruments)
    except FAILURES as error:
        said = (str(error).strip().splitlines() or [""])[0]
        return [check.unasked(check.asks, "failed", f"{type(error).__name__}: {said}")]


def _refusal(check: Check, reason: str) -> list[Diagnosis]:
    return [check.unasked(check.asks, "not run", reason)]
