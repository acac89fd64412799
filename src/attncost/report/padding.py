"""What padding wastes on the lines of a text: batches at random, and sorted by length."""

from collections.abc import Sequence
from statistics import median
from typing import Final

from attncost.batches.waste import Waste, padded, padded_at_random
from attncost.core.units import show
from attncost.draw.chart import Axis, Chart, Point, Series
from attncost.report.document import Chapter, Column, Figure, Finding, Section, Table

_SHUFFLES: Final = 20


def padding(
    counted: Sequence[int], *, longest: int | None, batch_size: int, name: str, command: str
) -> Chapter:
    """Return the waste of a text.

    Args:
        counted: Tokens of each line.
        longest: Where the model cuts a line off; None for nowhere.
        batch_size: Lines in a batch.
        name: The text, and what counted its tokens.
        command: What reproduces it.
    """
    lengths = [min(n, longest) if longest else n for n in counted]
    ways = {
        "at random": padded_at_random(lengths, batch_size=batch_size, shuffles=_SHUFFLES),
        "sorted by length": padded(sorted(lengths), batch_size=batch_size),
    }
    section = Section(
        title="What padding wastes on real text",
        text=(
            f"{name}: {len(lengths):,} lines of {min(lengths):,} to {max(lengths):,} tokens, "
            f"median {median(lengths):g}; a line is a sequence, a batch is as long as its longest."
            + _cut(counted, longest),
            "Projections and feed-forward pay for padded tokens, attention for padded pairs.",
        ),
        blocks=(_figure(lengths, command), _table(ways, batch_size, command)),
    )
    return Chapter((_finding(*ways.values(), batch_size=batch_size, command=command),), section)


def _finding(chance: Waste, ordered: Waste, *, batch_size: int, command: str) -> Finding:
    part, sorted_part = (show(waste.wasted_tokens, "percent") for waste in (chance, ordered))
    return Finding(
        key="padding",
        text=(
            f"Batches of {batch_size} are {part} padding, {sorted_part} if sorted; pairs "
            f"{show(chance.times_pairs, 'times')}, {show(ordered.times_pairs, 'times')}."
        ),
        values={
            "batch_size": batch_size,
            "at_random": {"wasted_tokens": chance.wasted_tokens, "times_pairs": chance.times_pairs},
            "sorted": {"wasted_tokens": ordered.wasted_tokens, "times_pairs": ordered.times_pairs},
        },
        command=command,
    )


def _table(ways: dict[str, Waste], batch_size: int, command: str) -> Table:
    return Table(
        title=f"Batches of {batch_size}",
        columns=(
            Column("order"),
            Column("padded", "tokens"),
            Column("padding", "percent"),
            Column("pairs", "times"),
        ),
        rows=tuple(
            (name, w.padded_tokens // runs, w.wasted_tokens, w.times_pairs)
            for (name, w), runs in zip(ways.items(), (_SHUFFLES, 1), strict=True)
        ),
        note=(
            "Padded: tokens that are computed; pairs: computed for each one needed. At random is "
            f"the mean of {_SHUFFLES} shuffles."
        ),
        command=command,
    )


def _figure(lengths: Sequence[int], command: str) -> Figure:
    ordered, last = sorted(max(1, n) for n in lengths), len(lengths) - 1
    # A hundred points draw the same curve as thousands of lines.
    at = sorted({last * share // 100 for share in range(101)})
    tenths = sorted({last * share // 10 for share in range(11)})
    chart = Chart(
        title="How long the lines are",
        description="Tokens of each line, from the shortest to the longest.",
        x=Axis(label="lines, shortest first", unit="exact", log=False),
        y=Axis(label="tokens", unit="tokens", log=False),
        series=(Series("tokens of a line", tuple(Point(i + 1, ordered[i]) for i in at)),),
    )
    table = Table(
        title="How long the lines are, in tenths",
        columns=(Column("line", "exact"), Column("tokens", "tokens")),
        rows=tuple((i + 1, ordered[i]) for i in tenths),
        command=command,
    )
    return Figure(chart, table)


def _cut(counted: Sequence[int], longest: int | None) -> str:
    cut = sum(n > longest for n in counted) if longest else 0
    return f" {cut:,} of them are cut off at {longest:,} tokens." if cut else ""
