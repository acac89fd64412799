"""The document of a plan for a text: every way to put its lines into batches, and the cheapest."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from attncost.core.units import show
from attncost.report.compared_ways import Compared, Comparison
from attncost.report.document import Column, Document, Finding, Section, Table
from attncost.report.timed_ways import Trials, trials_facts, trials_finding, trials_section
from attncost.report.way_memory import fitting, memory_section
from attncost.report.way_names import expression

_SCHEMA: Final = "attncost.plan_text/1"
# What comes next for whoever knows no machine.
_NEXT: Final = (
    "For times here: attncost measure --calibrate -o FILE, then attncost plan with --calibration "
    "FILE --time; of a GPU: --memory and its name."
)


def batching_document(found: Comparison, *, name: str, device: str, command: str) -> Document:
    """Return which way is the cheapest for a text, and what the others cost.

    Args:
        found: What was compared.
        name: The model as it was typed.
        device: What the device is called, if it has a name.
        command: What reproduces it.
    """
    return Document(
        schema=_SCHEMA,
        title=f"How to batch {found.asked.text.name} for {name}",
        subtitle=_situation(found, device),
        command=command,
        findings=tuple(_findings(found, command)),
        sections=_sections(found, command),
        facts={"model": name, **_facts(found)},
    )


def with_trials(document: Document, trials: Trials) -> Document:
    """Return a plan with what was measured; how to write it comes last."""
    *sections, last = document.sections
    command = document.command
    return replace(
        document,
        findings=(*document.findings, trials_finding(trials, command=command)),
        sections=(*sections, trials_section(trials, command=command), last),
        facts={**document.facts, "measured": trials_facts(trials)},
    )


def ways_table(found: Comparison, command: str) -> Table:
    """Return what each way wastes and takes, the usual one first.

    Args:
        found: What was compared.
        command: What reproduces it.
    """
    timed = found.asked.machine is not None
    seconds = (Column("time", "seconds"),) if timed else ()
    return Table(
        title=f"Ways to batch {found.asked.text.name}",
        columns=(
            Column("way"),
            Column("padding", "percent"),
            Column("pairs", "times"),
            Column("executed", "flops"),
            *seconds,
            Column("of usual", "times"),
        ),
        rows=tuple(_row(found, one, timed=timed) for one in (found.base, *found.ways)),
        note=_note(found),
        command=command,
    )


def written(found: Comparison) -> Iterator[str]:
    """Say how the cheapest way is written in Python, and what else it needs."""
    best = found.best.priced
    yield "import attncost as ac"
    yield f"way = ac.batches.{expression(best.way)}"
    if not best.way.packs:
        yield "collator = ac.hf.padding_collator(model, way=way)"
        return
    if not best.masked:
        yield 'model.set_attn_implementation(ac.hf.register("attncost"))'
    yield "collator = ac.hf.packing_collator(model, way=way)"
    yield (
        "The collator tries whether the model keeps the texts of a row apart, begins positions "
        "anew with each, and says what to do if it does not."
    )


def _sections(found: Comparison, command: str) -> tuple[Section, ...]:
    asked = found.asked
    return (
        Section(title="The text", text=asked.text.described(asked.model.longest)),
        Section(title="The ways", blocks=(ways_table(found, command),)),
        memory_section(found, command),
        Section(title="How to write it", text=tuple(written(found))),
    )


def _findings(found: Comparison, command: str) -> Iterator[Finding]:
    masked = found.choices.get("masked")
    yield Finding(
        key="batching",
        text=f"Cheapest: {found.choice.reason}.",
        values=_way_facts(found.best),
        command=command,
    )
    if masked and found.choice is not masked and found.best.priced.way.packs:
        yield Finding(
            key="batching_masked",
            text=f"Where attention reads a dense document mask: {masked.reason}.",
            values={"way": expression(masked.best.way), "times": found.ratio(masked.best)},
            command=command,
        )
    if found.asked.memory is not None:
        yield fitting(found, found.asked.memory, command)


def _facts(found: Comparison) -> dict[str, Any]:
    asked = found.asked
    return {
        "text": {"name": asked.text.name, "unit": asked.text.unit},
        "machine": asked.machine.name if asked.machine else None,
        "memory": asked.memory,
        "useful": found.best.priced.useful,
        "usual": _way_facts(found.base),
        "ways": [_way_facts(one) for one in found.ways],
    }


def _way_facts(one: Compared) -> dict[str, Any]:
    priced = one.priced
    return {
        "way": expression(priced.way),
        "documents": priced.documents if priced.way.packs else None,
        "batches": priced.calls,
        "largest_slots": priced.most_slots,
        "wasted_tokens": priced.waste.wasted_tokens,
        "times_pairs": priced.waste.times_pairs,
        "executed": priced.executed,
        "seconds": priced.seconds,
        "bytes": one.bytes,
        "room": one.room,
    }


def _situation(found: Comparison, device: str) -> str:
    asked = found.asked
    where = asked.machine.name if asked.machine else "by FLOPs, on no machine"
    if asked.memory is None or (device and device in where):
        return where
    return f"{where}; {device or show(asked.memory, 'bytes')}"


def _row(found: Comparison, one: Compared, *, timed: bool) -> tuple[Any, ...]:
    priced = one.priced
    seconds = (priced.seconds,) if timed else ()
    waste = priced.waste
    return (
        found.name(one),
        waste.wasted_tokens,
        waste.times_pairs,
        priced.executed,
        *seconds,
        found.ratio(priced),
    )


def _note(found: Comparison) -> str:
    useful = show(found.best.priced.useful, "flops")
    columns = (
        f"Each way with its best settings. Padding: of all slots. Pairs: multiplied for each one "
        f"needed. Executed: FLOPs forward, where {useful} are useful."
    )
    machine = found.asked.machine
    if machine:
        return f"{columns} Time of all lines once, forward: {machine.name}."
    equal = found.equal
    others = "1 other setting takes" if equal == 1 else f"{equal} other settings take"
    undecided = f" {others} as many within 0.1 %, and only times tell which is fast." * (equal > 0)
    return f"{_NEXT} FLOPs know no price of a call.{undecided} {columns}"
