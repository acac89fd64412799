"""Pictures of what was found by swapping attentions into a model."""

from attncost.draw.chart import MOST_SERIES, Axis, Chart, Point, Series
from attncost.report.document import Column, Figure, Table
from attncost.report.quality.model_words import chunks, short_names
from attncost.train.quality.models.next_tokens import TokenChange
from attncost.train.quality.models.results import Compared, Swapped


def cost_figure(found: Compared, table: Table) -> Figure:
    """Return quality over what attention executes, an attention a marker.

    Args:
        found: What was found.
        table: The same numbers.
    """
    short = short_names([one.attention for one in found.swapped])
    vectors = found.swapped[0].vectors is not None
    what = "cosine to its own vector" if vectors else "nats added to a token"
    better = "higher" if vectors else "lower"
    return Figure(
        Chart(
            title=f"{what.capitalize()} over the FLOPs of attention; {better} and left is better",
            description=(
                f"Mean {what}{', with its 95 % interval over texts' if found.texts > 1 else ''}, "
                "over the FLOPs that attention executes, as a share of those of the model as it is."
            ),
            x=Axis(label="executed FLOPs of attention, of own", unit="percent", log=True),
            y=Axis(label=what, unit="count", log=False),
            series=tuple(
                Series(short[one.attention], (_point(one),), style="markers")
                for one in found.swapped[:MOST_SERIES]
            ),
        ),
        table,
    )


def _point(one: Swapped) -> Point:
    of = one.vectors.cosine if one.vectors is not None else _told(one).added
    return Point(one.attention_share, of.value, of.low, of.high)


def _told(one: Swapped) -> TokenChange:
    assert one.tokens is not None, "one of both is compared"
    return one.tokens


def block_figures(found: Compared, command: str) -> tuple[Figure, ...]:
    """Return how far states of tokens move by block; several where there are many attentions."""
    short, groups = short_names([one.attention for one in found.swapped]), chunks(found.swapped)
    title = "How far tokens move, block by block"
    return tuple(
        Figure(
            _block_chart(title, {short[one.attention]: one for one in group}),
            Table(
                title=title if len(groups) == 1 else f"{title}, {i} of {len(groups)}",
                columns=(
                    Column("block", "exact"),
                    *(Column(short[one.attention], "percent") for one in group),
                ),
                rows=tuple(
                    (number, *moves)
                    for number, moves in enumerate(zip(*(one.blocks for one in group), strict=True))
                ),
                note="How far states of tokens moved after each block, relative to their size.",
                command=command,
            ),
        )
        for i, group in enumerate(groups, 1)
    )


def _block_chart(title: str, group: dict[str, Swapped]) -> Chart:
    return Chart(
        title=title,
        description="The mean change of the states of tokens after each block, all layers swapped.",
        x=Axis(label="block", unit="exact", log=False),
        y=Axis(label="change, relative", unit="percent", log=False),
        series=tuple(
            Series(name, tuple(Point(number, moves) for number, moves in enumerate(one.blocks)))
            for name, one in group.items()
        ),
    )


def length_figures(found: Compared, command: str) -> tuple[Figure, ...]:
    """Return nats of a token by how much was read before it."""
    if found.swapped[0].tokens is None:
        return ()
    short, groups = short_names([one.attention for one in found.swapped]), chunks(found.swapped)
    title = "Nats of a token, by how many were read before it"
    buckets = found.swapped[0].tokens.buckets
    figures = []
    for i, group in enumerate(groups, 1):
        each = {"own": [one.was for one in buckets]}
        each |= {short[one.attention]: [b.now for b in _told(one).buckets] for one in group}
        figures.append(
            Figure(
                Chart(
                    title=title,
                    description="Mean nats of tokens after so many, of the model and as swapped.",
                    x=Axis(label="tokens read before", unit="tokens", log=False),
                    y=Axis(label="nats", unit="count", log=False),
                    series=tuple(
                        Series(
                            name,
                            tuple(Point(b.start, y) for b, y in zip(buckets, nats, strict=True)),
                        )
                        for name, nats in each.items()
                    ),
                ),
                Table(
                    title=title if len(groups) == 1 else f"{title}, {i} of {len(groups)}",
                    columns=(
                        Column("read before"),
                        Column("tokens", "exact"),
                        *(Column(name, "count") for name in each),
                    ),
                    rows=tuple(
                        (f"{max(1, b.start)} to {b.stop - 1}", b.tokens, *nats)
                        for b, nats in zip(buckets, zip(*each.values(), strict=True), strict=True)
                    ),
                    note=f"{title}; perplexity is e to that power.",
                    command=command,
                ),
            )
        )
    return tuple(figures)
