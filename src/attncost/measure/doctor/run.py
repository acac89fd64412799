"""The visit: every check that the time allows, one after the other, and all that was switched back.

What is not run is an answer as well, with its reason; nothing is dropped in silence. A check is run
if it is expected to end in time: one naive attention is timed at a short length to find that out.
Short checks go first, so that a small budget has many answers.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from attncost.core.errors import AttnCostError, ShapeError, UnknownName
from attncost.core.units import show
from attncost.measure.clocks.threads import threads
from attncost.measure.doctor import checks
from attncost.measure.doctor.instruments import Instruments
from attncost.measure.doctor.interface import Check, Diagnosis
from attncost.measure.doctor.patient import Patient
from attncost.measure.doctor.probe import SHORT
from attncost.measure.doctor.state import unchanged
from attncost.measure.sweep.visits import Progress

BUDGET: Final = 60.0
_LENGTHS: Final = (2048, 1024, 512, 256)
# Blocks beyond 32 MiB fault; and so much longer than at a short length it takes for each pair.
_LARGE: Final = 1.5
_FLOAT32: Final = 4
_GROUND: Final = 1 << 28

# What a check meets on a machine that nobody has seen; a bug in one is shown as what it is.
_FAILURES: Final = (AttnCostError, RuntimeError, MemoryError, OSError)


def run_doctor(
    patient: Patient,
    *,
    budget: float = BUDGET,
    only: Sequence[str] | None = None,
    instruments: Instruments | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
) -> tuple[Diagnosis, ...]:
    """Return what the checks find out, in the order in which they were run.

    Args:
        patient: Whom to examine, at a length; `sized` chooses one.
        budget: Seconds after which no check begins.
        only: Names of the checks to run; all, if left out.
        instruments: How to measure.
        progress: Is told what is done next.

    Raises:
        ShapeError: If the patient has no length.
        UnknownName: If there is no such check.
    """
    if patient.length < 1:
        raise ShapeError(f"length must be at least 1, got {patient.length}: `sized` chooses one.")
    wanted, given = chosen(only), instruments or Instruments()
    start = given.now()

    def left() -> float:
        return budget - (given.now() - start)

    instruments = replace(given, left=left)
    with unchanged(), threads(1):
        short = instruments.probe(patient)
        expected = {one: expects(one, patient, short) for one in wanted}
        total, done = sum(expected.values()), 0.0
        found: list[Diagnosis] = []
        # Short checks first, so that a small budget has many answers; and what every call pays for
        # before what code must ask for.
        for one in sorted(wanted, key=lambda check: (check.optional, expected[check], check.name)):
            progress(Progress(f"checking {one.name}", done, total))
            reason = _refused(one, patient, expected[one], instruments)
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
    with unchanged(), threads(1):
        return _fitted(patient, wanted, (instruments or Instruments()).probe(patient), budget)


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
    return check.seconds + check.calls * short * _LARGE * (patient.length / SHORT) ** 2


def _refused(check: Check, patient: Patient, expected: float, instruments: Instruments) -> str:
    """Say why a check cannot be run, if it cannot."""
    needed = _GROUND + check.blocks * _FLOAT32 * patient.heads * patient.length**2
    there, left = instruments.free(), instruments.left()
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
    except _FAILURES as error:
        said = (str(error).strip().splitlines() or [""])[0]
        return [check.unasked(check.asks, "failed", f"{type(error).__name__}: {said}")]


def _refusal(check: Check, reason: str) -> list[Diagnosis]:
    return [check.unasked(check.asks, "not run", reason)]
