"""The document of `attncost report`: chapters gathered, what matters first."""

from collections.abc import Iterator
from dataclasses import replace
from shlex import quote
from typing import Final

from attncost.cost.configuration import Configuration
from attncost.measure.subjects.target import Target
from attncost.report.alternatives import alternatives
from attncost.report.by_count import by_count
from attncost.report.compared_ways import Asked
from attncost.report.diagnosed import doctor_chapter
from attncost.report.document import Chapter, Document, Section
from attncost.report.foretold import predicted_section
from attncost.report.formulas import formulas as formulas_of
from attncost.report.heads import heads_chapter
from attncost.report.material import Material, facts, subtitle
from attncost.report.modules import modules
from attncost.report.padding import padding
from attncost.report.planned import plan_chapter
from attncost.report.priced import priced, takes_over
from attncost.report.quality.models import quality_chapter
from attncost.report.remembered import memory_chapter
from attncost.report.roofline import roofline
from attncost.report.timed import timed
from attncost.report.timing import Timing, own_subject
from attncost.report.what_ifs import usual_length, what_ifs

LONG: Final = (8192, 16384, 32768, 65536, 131072)
_PRICED: Final = (64, 128, 256, 512, 1024, 2048, 4096)


def report(target: Target, material: Material, *, command: str, formulas: str) -> Document:
    """Gather what can be said about a model.

    Args:
        target: The model or layer.
        material: A text, a timing, a model beside it.
        command: What reproduces the report.
        formulas: What reproduces all that is computed, at once and without measuring.
    """
    timing = material.timing
    chapters = [*_of_model(target, material, command=command, formulas=formulas)]
    beside = material.beside
    if beside and beside != target.sizes:
        again = f"attncost report {beside.name} --beside none"
        chapters.append(priced(beside, lengths=LONG, command=again))
        chapters.append(plan_chapter(beside.name, beside))
        chapters.append(alternatives(beside, lengths=LONG, command=again))
    if material.missing:
        chapters.append(Chapter((), Section(title="What is not here", text=material.missing)))
    return Document(
        schema="attncost.report/1",
        title=f"What attention costs in {_named(target)}",
        subtitle=subtitle(timing),
        command=command,
        findings=tuple(finding for chapter in chapters for finding in chapter.findings),
        sections=tuple(chapter.section for chapter in chapters),
        facts=facts(target, material),
        attachments=material.attachments,
    )


def _of_model(
    target: Target, material: Material, *, command: str, formulas: str
) -> Iterator[Chapter]:
    """Give the chapters of a model: prices, what was measured, what fits, what else there is."""
    model, timing, name = target.sizes, material.timing, _named(target)
    if model:
        yield from _priced(target, model, formulas)
    if material.counted:
        if model is None:
            yield by_count(material.counted, material.over_length)
        yield Chapter((), modules(material.counted, name=name))
    if timing:
        yield timed(target, timing)
        yield from _predicted(target, timing, material)
    if material.counted and material.memory:
        yield memory_chapter(material.memory, name=name, length=material.counted.length)
    if model:
        # Formulas alone foretell no times.
        again = command if material.machine else formulas
        yield from _planned(target, model, material, formulas=formulas, batches=again)
    yield from (heads_chapter(mapped) for mapped in (material.mapped,) if mapped)
    yield from (quality_chapter(made) for made in (material.quality,) if made)
    if material.diagnoses:
        yield doctor_chapter(material.diagnoses, command=material.doctor)


def _priced(target: Target, model: Configuration, command: str) -> Iterator[Chapter]:
    """Give prices, and the formulas that they come from."""
    lengths, over = priced_lengths(target), takes_over(model)
    yield priced(model, lengths=lengths, command=command)
    yield Chapter((), formulas_of(model, length=lengths[-1], over=over, command=command))


def _planned(
    target: Target, model: Configuration, material: Material, *, formulas: str, batches: str
) -> Iterator[Chapter]:
    """Give what fits, what else it could be asked, and what would be cheaper."""
    name, lengths, text = target.name, priced_lengths(target), material.text
    if model.embedding.vocabulary:
        yield plan_chapter(name, model)
    yield what_ifs(name, model, length=min(lengths[-1], usual_length(model)))
    if text:
        asked = Asked(text=text, model=model, machine=material.machine)
        yield padding(asked, name=name, command=batches)
    if model.patterns:
        yield alternatives(model, lengths=lengths, command=formulas)


def _predicted(target: Target, timing: Timing, material: Material) -> Iterator[Chapter]:
    """Give predicted times beside measured ones, under the roof of the machine."""
    again = f"attncost report {quote(target.name)} --run {quote(timing.run)} --beside none"
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


def priced_lengths(target: Target) -> tuple[int, ...]:
    """Return the lengths that a model is priced at, increasing."""
    if target.sizes is None:
        return target.lengths
    longest = target.sizes.longest
    if not target.lengths and longest is None:
        return LONG
    found = tuple(n for n in _PRICED if longest is None or n <= longest) or (longest or 1,)
    # An image has as many patches as there are positions, and never fewer.
    whole = longest if target.sizes.embedding.patch else None
    return found if whole in (None, found[-1]) else (*found, whole)


def _named(target: Target) -> str:
    name = target.sizes.name if target.sizes else "this layer"
    return target.name if name == "this layer" else name
