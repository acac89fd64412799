"""The document of `attncost report`: chapters gathered, what matters first."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, final

from attncost.batches.machine import Machine
from attncost.cost.configuration import Configuration
from attncost.measure.doctor.interface import Diagnosis
from attncost.measure.speed.calibration import Calibration
from attncost.measure.speed.predict import PredictedTime
from attncost.measure.subjects.target import Target
from attncost.report.alternatives import alternatives
from attncost.report.compared_ways import Asked
from attncost.report.counted import facts as counted_facts
from attncost.report.diagnosed import diagnosis_facts, doctor_chapter
from attncost.report.document import Chapter, Document, Section
from attncost.report.foretold import predicted_section
from attncost.report.heads import Mapped, heads_chapter, heads_facts
from attncost.report.lines import Text
from attncost.report.modules import modules
from attncost.report.padding import padding
from attncost.report.planned import plan_chapter
from attncost.report.priced import priced
from attncost.report.quality.models import ModelQuality, model_facts, quality_chapter
from attncost.report.remembered import Held, memory_chapter, memory_facts
from attncost.report.roofline import roofline
from attncost.report.subject import Subject
from attncost.report.timed import timed
from attncost.report.timing import Timing, own_subject

# Of a run's first row: what a page says in its own places.
_ELSEWHERE: Final = ("schema", "kind", "command")
_LONG: Final = (8192, 16384, 32768, 65536, 131072)
_PRICED: Final = (64, 128, 256, 512, 1024, 2048, 4096)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Material:
    """What a report is made of beside formulas; what is None has no chapter.

    Attributes:
        counted: The count of it.
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
        missing: What could not be made, and why, a sentence each.
    """

    counted: Subject | None = None
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
    missing: tuple[str, ...] = ()


def report(target: Target, material: Material, *, command: str, formulas: str) -> Document:
    """Gather what can be said about a model.

    Args:
        target: The model or layer.
        material: A text, a timing, a model beside it.
        command: What reproduces the report.
        formulas: What reproduces all that is computed, at once and without measuring.
    """
    model, text, timing = target.configuration, material.text, material.timing
    lengths = priced_lengths(target)
    chapters = [priced(model, lengths=lengths, command=formulas)]
    if model.embedding.vocabulary:
        chapters.append(plan_chapter(target.name, model))
    chapters += _called(material, name=model.name)
    if timing:
        chapters.append(timed(target, timing))
        chapters += _beside(target, timing, material)
    chapters += [heads_chapter(mapped) for mapped in (material.mapped,) if mapped]
    chapters += [quality_chapter(made) for made in (material.quality,) if made]
    if text:
        asked = Asked(text=text, model=model, machine=material.machine)
        # Formulas alone foretell no times.
        again = command if material.machine else formulas
        chapters.append(padding(asked, name=target.name, command=again))
    if model.patterns:
        chapters.append(alternatives(model, lengths=lengths, command=formulas))
    beside = material.beside
    if beside and beside != model:
        by_itself = f"attncost report {beside.name}"
        chapters.append(priced(beside, lengths=_LONG, command=by_itself))
        chapters.append(plan_chapter(beside.name, beside))
        chapters.append(alternatives(beside, lengths=_LONG, command=by_itself))
    if material.missing:
        chapters.append(Chapter((), Section(title="What is not here", text=material.missing)))
    return Document(
        schema="attncost.report/1",
        title=f"What attention costs in {_named(target)}",
        subtitle=_subtitle(timing),
        command=command,
        findings=tuple(finding for chapter in chapters for finding in chapter.findings),
        sections=tuple(chapter.section for chapter in chapters),
        facts=_facts(target, material),
    )


def _called(material: Material, *, name: str) -> Iterator[Chapter]:
    """Give what was found out by calling the model itself."""
    if material.counted:
        yield Chapter((), modules(material.counted, name=name))
        if material.memory:
            yield memory_chapter(material.memory, name=name, length=material.counted.length)


def _beside(target: Target, timing: Timing, material: Material) -> Iterator[Chapter]:
    """Give what stands beside measurements: predicted times, and what wastes time here."""
    again = str(timing.environment["command"])
    if material.calibration:
        chapter = predicted_section(timing.cells, material.predicted, command=again)
        if chapter:
            own = own_subject(timing)
            roofs = {
                f"{target.name}, {length:,} tokens": time
                for (subject, length), time in material.predicted.items()
                if subject == own
            }
            roof = roofline(roofs, material.calibration, command=again)
            blocks = (*chapter.section.blocks, *([roof] if roof else ()))
            yield replace(chapter, section=replace(chapter.section, blocks=blocks))
    if material.diagnoses:
        yield doctor_chapter(material.diagnoses, command=material.doctor)


def priced_lengths(target: Target) -> tuple[int, ...]:
    """Return the lengths that a model is priced at, increasing."""
    longest = target.configuration.longest
    if not target.lengths and longest is None:
        return _LONG
    found = tuple(n for n in _PRICED if longest is None or n <= longest) or (longest or 1,)
    # An image has as many patches as there are positions, and never fewer.
    whole = longest if target.configuration.embedding.patch else None
    return found if whole in (None, found[-1]) else (*found, whole)


def _named(target: Target) -> str:
    name = target.configuration.name
    return target.name if name == "this layer" else name


def _subtitle(timing: Timing | None) -> str:
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


def _facts(target: Target, material: Material) -> dict[str, Any]:
    text, timing, mapped = material.text, material.timing, material.mapped
    facts: dict[str, Any] = {
        "model": target.name,
        "contains": (
            f"It contains the number of {text.unit} in lines of {text.name}, and none of its words"
            if text
            else "It contains no text and no weights"
        )
        + ("; the maps beside it contain the words." if mapped and mapped.page else "."),
    }
    if material.counted:
        facts["counted"] = counted_facts(material.counted)
    if material.memory:
        facts["memory"] = {one.work: memory_facts(one.found) for one in material.memory}
    if timing:
        facts["environment"] = {
            key: round(value, 2) if isinstance(value, float) else value
            for key, value in timing.environment.items()
            if key not in _ELSEWHERE
        }
        facts["measured"] = [asdict(cell) for cell in timing.cells]
        facts["laws"] = {name: asdict(law) for name, law in timing.laws.fitted.items()}
    if material.diagnoses:
        facts["diagnoses"] = [diagnosis_facts(one) for one in material.diagnoses]
    if mapped:
        facts["attends"] = {"page": mapped.page, **heads_facts(mapped.heads)}
    if material.quality:
        facts["quality"] = model_facts(material.quality)
    return facts
