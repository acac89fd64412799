"""The price of a model that has no formula: a count at every length, without its weights."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

from attncost.core.units import show
from attncost.draw.chart import Axis, Chart, Point, Series
from attncost.report.document import Chapter, Column, Figure, Finding, Section, Table
from attncost.report.subject import Subject

_NO_FORMULA: Final = (
    "Its sizes are not known, so no formula stands behind these numbers, and what other attention "
    "would cost in it, how long a sequence fits, and what padding wastes are left out."
)
_CHART_NEEDS: Final = 2


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Counts:
    """FLOPs of one forward pass of one sequence.

    Attributes:
        length: Tokens.
        core: Products of two activations, which are taken for attention.
        linear: All other products.
    """

    length: int
    core: int
    linear: int


def by_count(subject: Subject, over_length: Sequence[Counts]) -> Chapter:
    """Return what a count says, at one length and over others.

    Args:
        subject: The model, counted.
        over_length: FLOPs by length, increasing; empty if its inputs have sizes of their own.
    """
    counted, name = subject.counted, subject.name
    at = "its own inputs" if subject.length is None else f"{subject.length:,} tokens"
    finding = Finding(
        key="counted",
        text=(
            f"{name}, {at}: {show(counted.useful, 'flops')}, "
            f"{show(counted.attention_share, 'percent')} attention."
        ),
        values={
            "length": subject.length,
            "flops": counted.useful,
            "attention_share": counted.attention_share,
        },
        command=subject.command,
    )
    section = Section(
        title=f"What {name} costs by a count",
        text=(_NO_FORMULA,),
        blocks=tuple(_over(name, over_length, subject.command)),
    )
    return Chapter((finding,), section)


def _over(name: str, over_length: Sequence[Counts], command: str) -> Iterator[Table | Figure]:
    """Give FLOPs over the length, drawn if there is something of both."""
    if len(over_length) >= _CHART_NEEDS:
        table = _table(name, over_length, command)
        drawn = all(row.core and row.linear for row in over_length)
        yield Figure(_chart(name, over_length), table) if drawn else table


def _table(name: str, over_length: Sequence[Counts], command: str) -> Table:
    return Table(
        title=f"FLOPs of {name}, counted",
        columns=(
            Column("tokens", "tokens"),
            Column("attention", "flops"),
            Column("all the rest", "flops"),
            Column("attention's share", "percent"),
        ),
        rows=tuple(
            (row.length, row.core, row.linear, row.core / max(row.core + row.linear, 1))
            for row in over_length
        ),
        note="The command counts one length; --length counts another.",
        command=command,
    )


def _chart(name: str, over_length: Sequence[Counts]) -> Chart:
    over = next((row.length for row in over_length if row.core >= row.linear), None)
    end = f"at {over:,} tokens it leads" if over else "it leads at none of these lengths"
    return Chart(
        title=f"Attention in {name}: {end}",
        description=f"FLOPs of one forward pass against tokens, counted; {end}.",
        x=Axis(label="tokens", unit="tokens"),
        y=Axis(label="one forward pass", unit="flops"),
        series=(
            Series("attention", tuple(Point(row.length, row.core) for row in over_length)),
            Series("all the rest", tuple(Point(row.length, row.linear) for row in over_length)),
        ),
    )
