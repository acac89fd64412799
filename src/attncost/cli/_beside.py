"""What a report shows beside measurements: predicted times, and a visit of the doctor."""

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from attncost.cli._command import command
from attncost.cli._patient import patient
from attncost.cli._progress import bar, held
from attncost.core.errors import AttnCostError

if TYPE_CHECKING:
    from attncost.measure.doctor.interface import Diagnosis
    from attncost.measure.speed.calibration import Calibration
    from attncost.measure.speed.predict import PredictedTime
    from attncost.report.material import Material
    from attncost.report.timing import Timing

_CALIBRATE_SECONDS: Final = 20.0
# A visit that takes no longer than a glance, at a length where all of it shows.
_VISIT_SECONDS: Final = 15.0
_LENGTH: Final = 512


def beside_measurements(
    material: "Material", timing: "Timing", *, model: str, known: "Calibration | None"
) -> "Material":
    """Add what measurements are compared with, and what wastes time on this machine.

    Args:
        material: What a report is made of.
        timing: The measurements.
        model: As it was typed.
        known: A calibration of this machine; it is made anew, if there is none.
    """
    with held("cpu"):
        known = known or _calibrated()
        diagnoses = _visited(model)
    again = command("doctor", [model], {"length": _LENGTH, "only": ",".join(_checks())})
    try:
        predicted = _predicted(timing, known)
    except AttnCostError as error:  # A run of another version says nothing of how to run it again.
        missing = (*material.missing, f"Predicted times: {error}")
        return replace(material, diagnoses=diagnoses, doctor=again, missing=missing)
    return replace(
        material, calibration=known, predicted=predicted, diagnoses=diagnoses, doctor=again
    )


def _calibrated() -> "Calibration":
    from attncost.measure.clocks.clock import clock_for
    from attncost.measure.speed.calibrate import calibrate
    from attncost.measure.sweep.visits import Progress

    with bar() as show:
        return calibrate(
            clock_for("cpu"),
            command=command("measure", [], {"calibrate": True}),
            seconds=_CALIBRATE_SECONDS,
            progress=lambda share: show(Progress("calibrating this machine", share, 1.0)),
        )


def _visited(model: str) -> "tuple[Diagnosis, ...]":
    from attncost.measure.doctor.run import run_doctor

    examined = patient(model)
    length = min(_LENGTH, examined.longest or _LENGTH)
    with bar() as show:
        return run_doctor(
            replace(examined, length=length),
            budget=_VISIT_SECONDS,
            only=_checks(),
            progress=show,
        )


def _checks() -> list[str]:
    """Return the checks of how attention is called; those of the machine take longer."""
    from attncost.measure.doctor.checks import load, names

    return [name for name in names() if not load(name).of_machine]


def _predicted(timing: "Timing", known: "Calibration") -> "dict[tuple[str, int], PredictedTime]":
    """Predict what was measured: forward calls of one sequence in float32, on one thread."""
    from attncost.measure.speed.predict import predicted
    from attncost.measure.speed.record import recorded
    from attncost.measure.subjects.case import Case
    from attncost.measure.sweep.task import Task

    task = Task.of(timing.environment)
    subjects = {subject.name: subject for subject in task.named()}
    return {
        (cell.subject, cell.length): predicted(
            recorded(subjects[cell.subject].prepare(Case(length=cell.length))), known
        )
        for cell in timing.cells
        if cell.subject in subjects and cell.subject not in timing.unusual
    }
