"""What batches of a text hold in memory, way by way, and what there is memory for."""

from typing import Any

from attncost.core.units import show
from attncost.report.compared_ways import Compared, Comparison
from attncost.report.document import Column, Finding, Section, Table


def memory_section(found: Comparison, command: str) -> Section:
    """Return what the largest batch of each way holds, and the ways that memory leaves out.

    Args:
        found: What was compared.
        command: What reproduces it.
    """
    return Section(
        title="Memory",
        text=tuple(f"Left out: {way} {why}." for way, why in found.left_out.items()),
        blocks=(_table(found, command),),
    )


def fitting(found: Comparison, memory: int, command: str) -> Finding:
    """Say whether the largest batch of the cheapest way fits, and how large one would.

    Args:
        found: What was compared.
        memory: Bytes that there are.
        command: What reproduces it.
    """
    best, there = found.best, show(memory, "bytes")
    needed = show(best.bytes, "bytes")
    if found.fits:
        room = "any number" if best.room is None else f"{best.room:,}"
        said = (
            f"The largest batch of {found.name(best)} takes {needed} of {there}; {room} slots "
            "would fit."
        )
    else:
        said = f"No batch fits into {there}: the longest line alone takes more."
    return Finding(
        key="fits",
        text=said,
        values={"memory": memory, "bytes": best.bytes, "fits": found.fits, "room": best.room},
        command=command,
    )


def _table(found: Comparison, command: str) -> Table:
    rooms = () if found.asked.memory is None else (Column("fit", "tokens"),)
    return Table(
        title=f"Memory of the largest batch, {found.asked.how.work}",
        columns=(
            Column("way"),
            Column("batches", "exact"),
            Column("largest", "tokens"),
            Column("memory", "bytes"),
            *rooms,
        ),
        rows=tuple(_row(found, one) for one in (found.base, *found.ways)),
        note=_note(found),
        command=command,
    )


def _row(found: Comparison, one: Compared) -> tuple[Any, ...]:
    fit = () if found.asked.memory is None else ("any" if one.room is None else one.room,)
    return (found.name(one), one.priced.calls, one.priced.most_slots, one.bytes, *fit)


def _note(found: Comparison) -> str:
    how, asked = found.asked.how, found.asked.memory is not None
    return (
        f"Largest: slots of the batch with most. Memory: with the model, weights in {how.weights}, "
        f"activations in {how.activations}, which are estimates."
        f"{' Fit: slots of the largest batch that would.' if asked else ''}"
    )
