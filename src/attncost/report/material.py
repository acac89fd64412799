"""What a report is made of, and what of it JSON carries as plain data."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, final

from attncost.batches.machine import Machine
from attncost.cost.configuration import Configuration
from attncost.measure.doctor.interface import Diagnosis
from attncost.measure.speed.calibration import Calibration
from attncost.measure.speed.predict import PredictedTime
from attncost.measure.subjects.target import Target
from attncost.report.by_count import Counts
from attncost.report.counted import facts as counted_facts
from attncost.report.diagnosed import diagnosis_facts
from attncost.report.document import Attachment
from attncost.report.heads import Mapped, heads_facts
from attncost.report.lines import Text
from attncost.report.quality.models import ModelQuality, model_facts
from attncost.report.remembered import Held, memory_facts
from attncost.report.subject import Subject
from attncost.report.timing import Timing

# Of a run's first row: what a page says in its own places.
_ELSEWHERE: Final = ("schema", "kind", "command")


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Material:
    """What a report is made of beside formulas; what is None has no chapter.

    Attributes:
        counted: The count of it.
        over_length: FLOPs at other lengths, of what has no formula.
        memory: What the same call holds in memory, in each work.
        text: A text to measure padding on.
        machine: Foretells the time of its batches.
        timing: Measured time and memory.
        calibration: Of the machine that measured.
        predicted: By subject and length, the time that follows from the calibration.
        diagnoses: What the doctor found.
        doctor: What repeats that visit.
        mapped: What its heads attend to.
        quality: What cheaper attention changes in it.
        beside: A model of long contexts to price beside it.
        attachments: Files for the page to carry, such as samples.
        missing: What could not be made, and why, a sentence each.
    """

    counted: Subject | None = None
    over_length: tuple[Counts, ...] = ()
    memory: tuple[Held, ...] = ()
    text: Text | None = None
    machine: Machine | None = None
    timing: Timing | None = None
    calibration: Calibration | None = None
    predicted: Mapping[tuple[str, int], PredictedTime] = field(default_factory=dict)
    diagnoses: tuple[Diagnosis, ...] = ()
    doctor: str = ""
    mapped: Mapped | None = None
    quality: ModelQuality | None = None
    beside: Configuration | None = None
    attachments: tuple[Attachment, ...] = ()
    missing: tuple[str, ...] = ()


def subtitle(timing: Timing | None) -> str:
    """Say where a report was measured, in a line."""
    if timing is None:
        return "By formula, one sequence, forward"
    where = timing.environment
    return (
        f"{_usually(timing)}measured on {where['device']}, {where['processor']}, "
        f"{where['threads']} thread, torch {where['torch']}, by {where['clock']}"
    )


def _usually(timing: Timing) -> str:
    """Say what all series have in common, if they do."""
    return "" if timing.unusual else "One sequence, forward, float32; "


def facts(target: Target, material: Material) -> dict[str, Any]:
    """Return what JSON carries beside findings and tables, every digit of it."""
    text, timing, mapped = material.text, material.timing, material.mapped
    found: dict[str, Any] = {
        "model": target.name,
        "contains": (
            f"It contains the number of {text.unit} in lines of {text.name}, and none of its words"
            if text
            else "It contains no text and no weights"
        )
        + ("; the maps beside it contain the words." if mapped and mapped.page else "."),
    }
    if material.counted:
        found["counted"] = counted_facts(material.counted)
    if material.memory:
        found["memory"] = {one.work: memory_facts(one.found) for one in material.memory}
    if timing:
        found["environment"] = {
            key: round(value, 2) if isinstance(value, float) else value
            for key, value in timing.environment.items()
            if key not in _ELSEWHERE
        }
        found["measured"] = [asdict(cell) for cell in timing.cells]
        found["laws"] = {name: asdict(law) for name, law in timing.laws.fitted.items()}
    if material.diagnoses:
        found["diagnoses"] = [diagnosis_facts(one) for one in material.diagnoses]
    if mapped:
        found["attends"] = {"page": mapped.page, **heads_facts(mapped.heads)}
    if material.quality:
        found["quality"] = model_facts(material.quality)
    return found
