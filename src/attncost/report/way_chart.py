"""What the settings of each way change: its price over the slots of its largest batch."""

from collections.abc import Iterator
from typing import TypeAlias

from attncost.batches.priced import Priced
from attncost.draw.chart import MOST_SERIES, Axis, Chart, Point, Series
from attncost.report.compared_ways import Comparison
from attncost.report.document import Column, Figure, Table
from attncost.report.way_names import kind

# Each way, with the best of its settings by octaves of slots, the fewest first.
_Octaves: TypeAlias = list[tuple[str, list[Priced]]]


def way_chart(found: Comparison, command: str) -> Figure:
    """Return every way with all its settings, and a table of the same points.

    Args:
        found: What was compared.
        command: What reproduces it.
    """
    octaves = list(_octaves(found))
    return Figure(_chart(found, octaves), _table(found, octaves, command))


def _chart(found: Comparison, octaves: _Octaves) -> Chart:
    usual = found.name(found.base)
    return Chart(
        title=f"What the size of a batch changes: {found.paid}, beside {usual}",
        description=(
            f"Every way to batch the lines: {found.paid} over the slots of its largest batch, as a "
            f"multiple of {usual}; its lowest point is its best setting."
        ),
        x=Axis(label="slots of the largest batch", unit="tokens"),
        y=Axis(label=f"{found.paid} of the usual way", unit="times"),
        series=tuple(
            Series(name, tuple(Point(one.most_slots, found.ratio(one)) for one in ways))
            for name, ways in octaves[:MOST_SERIES]
        ),
    )


def _table(found: Comparison, octaves: _Octaves, command: str) -> Table:
    return Table(
        title="What the size of a batch changes",
        columns=(
            Column("way"),
            Column("largest", "tokens"),
            Column("padding", "percent"),
            Column("of usual", "times"),
        ),
        rows=tuple(
            (name, one.most_slots, one.waste.wasted_tokens, found.ratio(one))
            for name, ways in octaves
            for one in ways
        ),
        note="The best of all settings whose largest batch has about so many slots, in octaves.",
        command=command,
    )


def _octaves(found: Comparison) -> Iterator[tuple[str, list[Priced]]]:
    kinds: dict[str, dict[int, Priced]] = {}
    for one in found.tried:
        # The cheapest comes first.
        kinds.setdefault(kind(one), {}).setdefault(one.most_slots.bit_length(), one)
    for name, best in kinds.items():
        yield name, sorted(best.values(), key=lambda one: one.most_slots)
