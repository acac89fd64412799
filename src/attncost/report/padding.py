"""What padding wastes on the lines of a text, and which way to batch them wastes least."""

import shlex
from collections.abc import Sequence

from attncost.core.units import show
from attncost.draw.chart import Axis, Chart, Point, Series
from attncost.report.batching import ways_table
from attncost.report.compared_ways import Asked, Compared, Comparison, compared
from attncost.report.document import Chapter, Column, Figure, Finding, Section, Table
from attncost.report.way_chart import way_chart
from attncost.report.way_names import kind


def padding(asked: Asked, *, name: str, command: str) -> Chapter:
    """Return the waste of a text.

    Args:
        asked: The lines, the model and the machine.
        name: The model as it was typed.
        command: What reproduces it.
    """
    text, longest = asked.text, asked.model.longest
    found = compared(asked)
    section = Section(
        title="What padding wastes on real text",
        text=(
            " ".join(text.described(longest)),
            f"A line is a sequence, a padded batch is as long as its longest. Projections and "
            f"feed-forward pay for padded {text.unit}, attention for padded pairs.",
            f"Cheapest: {found.choice.reason}. Its Python, memory and measured times, and other "
            f"texts: attncost plan {shlex.quote(name)} --text FILE.",
        ),
        blocks=(
            _figure(text.kept(longest), text.unit, command),
            ways_table(found, command),
            way_chart(found, command),
        ),
    )
    return Chapter((_finding(found, command=command),), section)


def _finding(found: Comparison, *, command: str) -> Finding:
    size, best = found.asked.text.batch_size, found.best.priced
    times, waste = found.ratio(best), found.base.priced.waste
    return Finding(
        key="padding",
        text=(
            f"Batches of {size}: {show(waste.wasted_tokens, 'percent')} padding, "
            f"{show(waste.times_pairs, 'times')} the pairs; {kind(best)} {show(times, 'times')} "
            f"the {found.paid}."
        ),
        values={
            "batch_size": size,
            "at_random": _values(found.base),
            "best": {"way": found.name(found.best), "times": times, **_values(found.best)},
        },
        command=command,
    )


def _values(one: Compared) -> dict[str, float]:
    waste = one.priced.waste
    return {"wasted_tokens": waste.wasted_tokens, "times_pairs": waste.times_pairs}


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
