"""The document of `attncost quality MODEL`, and the chapter of a report that is made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, final

from attncost.measure.sweep.interleaved import Ratio
from attncost.report.document import Chapter, Document, Section
from attncost.report.quality.model_charts import block_figures, cost_figure, length_figures
from attncost.report.quality.model_errors import errors_finding, errors_section
from attncost.report.quality.model_findings import findings
from attncost.report.quality.model_tables import (
    alone_table,
    cost_table,
    neighbours_tables,
    quality_table,
    reads_tables,
)
from attncost.report.quality.model_words import short_names
from attncost.train.quality.errors import ErrorRow
from attncost.train.quality.models.results import Compared

_AS_IT_IS = (
    "Nothing is trained here: a model that learns with a cheaper attention from the start, or is "
    "fine-tuned with it, loses less."
)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class ModelQuality:
    """What the document is made of.

    Attributes:
        found: What was found by swapping.
        errors: Errors of approximations by what they are of; empty if there are none.
        times: How long the longest text takes, by attention; empty if it was not timed.
        command: What makes it.
    """

    found: Compared
    errors: Mapping[str, Sequence[ErrorRow]] = field(default_factory=dict)
    times: Mapping[str, Ratio] = field(default_factory=dict)
    command: str


def model_document(made: ModelQuality) -> Document:
    """Return all that is to say of a model with cheaper attention."""
    found, command = made.found, made.command
    return Document(
        schema="attncost.quality_model/1",
        title=f"What cheaper attention changes in {found.model}",
        subtitle="Swapped into every layer of the model as it is, without training",
        command=command,
        findings=(*findings(found, command), *errors_finding(made.errors, command)),
        sections=tuple(_sections(made)),
        facts=model_facts(made),
    )


def quality_chapter(made: ModelQuality) -> Chapter:
    """Return what a report says of it, shorter."""
    found, command = made.found, made.command
    table = quality_table(found, command)
    section = Section(
        title="What cheaper attention changes",
        text=(*found.described, _AS_IT_IS, *found.refused),
        blocks=(
            cost_figure(found, table),
            *neighbours_tables(found, command),
            *reads_tables(found, command)[:1],
        ),
    )
    return Chapter(findings(found, command)[:2], section)


def model_facts(made: ModelQuality) -> dict[str, Any]:
    """Return every number as plain data."""
    return {
        "model": made.found.model,
        "compared": asdict(made.found),
        "errors": {of: [asdict(row) for row in rows] for of, rows in made.errors.items()},
        "times": {name: asdict(one) for name, one in made.times.items()},
    }


def _untrained(found: Compared) -> tuple[str, ...]:
    """Name what cannot be expected to work as it is."""
    short = short_names([one.attention for one in found.swapped])
    named = ", ".join(short[one.attention] for one in found.swapped if one.untrained)
    if not named:
        return ()
    return (f"No softmax, so that a model must learn with it first: {named}.",)


def _sections(made: ModelQuality) -> list[Section]:
    found, command = made.found, made.command
    sections = [
        Section(
            title="Quality beside cost",
            text=(*found.described, _AS_IT_IS, *_untrained(found)),
            blocks=(
                cost_figure(found, quality_table(found, command)),
                *neighbours_tables(found, command),
                *length_figures(found, command),
                cost_table(found, made.times, command),
            ),
        ),
        Section(
            title="Where it changes",
            text=(
                "Mass kept is what the softmax of the model as it is gives to keys that the "
                "cheaper attention still reads.",
            ),
            blocks=(
                *([alone_table(found, command)] if found.alone_of else []),
                *block_figures(found, command),
                *reads_tables(found, command),
            ),
        ),
    ]
    if made.errors:
        sections.append(errors_section(made.errors, command))
    if found.refused:
        sections.append(Section(title="What is not here", text=found.refused))
    return sections
