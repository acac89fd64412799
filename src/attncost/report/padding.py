"""What padding wastes on the lines of a text: batches at random, and sorted by length."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, Literal, final

from attncost.batches.waste import Waste, waste_of
from attncost.batches.ways.padded import Padded
from attncost.core.units import show
from attncost.draw.chart import Axis, Chart, Point, Series
from attncost.report.document import Chapter, Column, Figure, Finding, Section, Table

_SHUFFLES: Final = 20
_UNITS: Final = {
    "tokens": "in tokens of the model's own tokenizer",
    "words": "in words between spaces, as there is no tokenizer here",
}


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """A text whose lines are sequences.

    Attributes:
        name: Its file.
        lengths: Tokens of each line, or words where there is no tokenizer.
        unit: Which of the two.
        batch_size: Lines in a batch.
    """

    name: str
    lengths: Sequence[int]
    unit: Literal["tokens", "words"]
    batch_size: int


def padding(text: Text, *, longest: int | None, command: str) -> Chapter:
    """Return the waste of a text.

    Args:
        text: The lines.
        longest: Where the model cuts a line off; None for nowhere.
        command: What reproduces it.
    """
    lengths = [min(n, longest) if longest else n for n in text.lengths]
    size, unit = text.batch_size, text.unit
    ways = {"at random": _at_random(lengths, size), "sorted by length": _sorted(lengths, size)}
    section = Section(
        title="What padding wastes on real text",
        text=(
            f"{text.name}, {_UNITS[unit]}: {len(lengths):,} lines of {min(lengths):,} to "
            f"{max(lengths):,}, median {median(lengths):g}; a line is a sequence, a batch is as "
            f"long as its longest.{_cut(text, longest)}",
            f"Projections and feed-forward pay for padded {unit}, attention for padded pairs.",
        ),
        blocks=(_figure(lengths, unit, command), _table(ways, text, command)),
    )
    return Chapter((_finding(*ways.values(), batch_size=size, command=command),), section)


def _at_random(lengths: Sequence[int], size: int) -> Waste:
    """Return the waste of batches drawn at random, summed over several shuffles."""
    chance, order = random.Random(0), list(range(len(lengths)))
    found = []
    for _ in range(_SHUFFLES):
        chance.shuffle(order)
        found.append(_padded(lengths, order, size))
    return sum(found[1:], found[0])


def _sorted(lengths: Sequence[int], size: int) -> Waste:
    return _padded(lengths, sorted(range(len(lengths)), key=lengths.__getitem__), size)


def _padded(lengths: Sequence[int], order: Sequence[int], size: int) -> Waste:
    return waste_of(batch.layout(lengths) for batch in Padded(size).batches(lengths, order))


def _finding(chance: Waste, ordered: Waste, *, batch_size: int, command: str) -> Finding:
    padding, ordered_padding = (show(w.wasted_tokens, "percent") for w in (chance, ordered))
    pairs, ordered_pairs = (show(w.times_pairs, "times") for w in (chance, ordered))
    return Finding(
        key="padding",
        text=(
            f"Batches of {batch_size}: {padding} padding, {pairs} the pairs; sorted "
            f"{ordered_padding}, {ordered_pairs}."
        ),
        values={
            "batch_size": batch_size,
            "at_random": {"wasted_tokens": chance.wasted_tokens, "times_pairs": chance.times_pairs},
            "sorted": {"wasted_tokens": ordered.wasted_tokens, "times_pairs": ordered.times_pairs},
        },
        command=command,
    )


def _table(ways: dict[str, Waste], text: Text, command: str) -> Table:
    return Table(
        title=f"Batches of {text.batch_size}",
        columns=(
            Column("order"),
            Column("padded", "tokens"),
            Column("padding", "percent"),
            Column("pairs", "times"),
        ),
        rows=tuple(
            (name, w.slots // runs, w.wasted_tokens, w.times_pairs)
            for (name, w), runs in zip(ways.items(), (_SHUFFLES, 1), strict=True)
        ),
        note=(
            f"Padded: {text.unit} that are computed; pairs: computed for each one needed. At "
            f"random is the mean of {_SHUFFLES} shuffles."
        ),
        command=command,
    )


def _figure(lengths: Sequence[int], unit: str, command: str) -> Figure:
    ordered, last = sorted(max(1, n) for n in lengths), len(lengths) - 1
    # A hundred points draw the same curve as thousands of lines.
    at = sorted({last * share // 100 for share in range(101)})
    tenths = sorted({last * share // 10 for share in range(11)})
    chart = Chart(
        title="How long the lines are",
        description=f"{unit.capitalize()} of each line, from the shortest to the longest.",
        x=Axis(label="lines, shortest first", unit="exact", log=False),
        y=Axis(label=unit, unit="exact", log=False),
        series=(Series(f"{unit} of a line", tuple(Point(i + 1, ordered[i]) for i in at)),),
    )
    table = Table(
        title="How long the lines are, in tenths",
        columns=(Column("line", "exact"), Column(unit, "exact")),
        rows=tuple((i + 1, ordered[i]) for i in tenths),
        command=command,
    )
    return Figure(chart, table)


def _cut(text: Text, longest: int | None) -> str:
    cut = sum(n > longest for n in text.lengths) if longest else 0
    return f" {cut:,} of them are cut off at {longest:,} {text.unit}." if cut else ""
