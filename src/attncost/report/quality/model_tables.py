"""Tables of what was found by swapping attentions into a model."""

from collections.abc import Callable, Mapping
from math import exp
from typing import Final

from attncost.measure.sweep.interleaved import Ratio
from attncost.report.document import Cell, Column, Table
from attncost.report.quality.model_words import chunks, layer_names, short_names
from attncost.train.quality.models.layer_reads import LayerRead
from attncost.train.quality.models.rank_correlation import alone_swapped
from attncost.train.quality.models.results import Compared, Swapped

_VECTORS: Final = (
    ("cosine", "count"),
    ("low", "count"),
    ("high", "count"),
    ("worst", "count"),
)
_TOKENS: Final = (
    ("added", "count"),
    ("low", "count"),
    ("high", "count"),
    ("perplexity", "count"),
    ("same", "percent"),
    ("KL", "count"),
)
_ENDS: Final = ("low", "high")


def cost_table(found: Compared, times: Mapping[str, Ratio], command: str) -> Table:
    """Return a row an attention: what it reads, executes and takes."""
    short = short_names([one.attention for one in found.swapped])
    timed = ("time", "low", "high") if times else ()
    return Table(
        title="Cost",
        columns=(
            Column("attention"),
            *(Column(title, "percent") for title in ("pairs", "FLOPs", "model", *timed)),
            Column("for --attention"),
        ),
        rows=tuple(
            (
                short[one.attention],
                *(one.pairs_share, one.attention_share, one.model_share),
                *_time(times, one.attention),
                one.attention,
            )
            for one in found.swapped
        ),
        note=(
            "Cost, all over that of the model as it is. Pairs: of a query and a key that it reads; "
            "FLOPs: what the best kernel here executes for that, and for a short text that may be "
            "a dense mask; model: FLOPs of the whole model."
            + (
                " Time: of the longest text, side by side on one thread; low and high: a 95 % "
                "interval of the median."
                if times
                else ""
            )
        ),
        command=command,
    )


def _time(times: Mapping[str, Ratio], attention: str) -> tuple[Cell, ...]:
    if not times:
        return ()
    one = times.get(attention)
    return (None, None, None) if one is None else (one.figure, one.low, one.high)


def quality_table(found: Compared, command: str) -> Table:
    """Return a row an attention: what it costs, and what the model says with it."""
    short = short_names([one.attention for one in found.swapped])
    of, columns = (
        (_token_cells, _TOKENS) if found.swapped[0].vectors is None else (_vector_cells, _VECTORS)
    )
    # One text has no interval.
    kept = [i for i, (title, _) in enumerate(columns) if found.texts > 1 or title not in _ENDS]
    interval = "Low and high: a 95 % interval over texts. " if found.texts > 1 else ""
    return Table(
        title="Quality beside cost",
        columns=(
            Column("attention"),
            Column("FLOPs", "percent"),
            *(Column(*columns[i]) for i in kept),
        ),
        rows=tuple(
            (short[one.attention], one.attention_share, *(of(one)[i] for i in kept))
            for one in found.swapped
        ),
        note=(
            "FLOPs: what attention executes, over that of the model as it is. "
            + interval
            + _meaning(found)
        ),
        command=command,
    )


def _vector_cells(one: Swapped) -> tuple[Cell, ...]:
    of = one.vectors
    assert of is not None, "all have them"
    return of.cosine.value, of.cosine.low, of.cosine.high, of.worst


def _token_cells(one: Swapped) -> tuple[Cell, ...]:
    of = one.tokens
    assert of is not None, "all have them"
    perplexity = exp(of.was + of.added.value)
    return (
        *(of.added.value, of.added.low, of.added.high),
        *(perplexity, of.same.value, of.divergence),
    )


def _meaning(found: Compared) -> str:
    if found.swapped[0].tokens is not None:
        was = found.swapped[0].tokens.was
        return (
            f"Added: nats a token, to {was:.3g} of the model as it is, whose perplexity is "
            f"{exp(was):.4g}. Same: how often the likeliest token stays; KL: divergence from what "
            "the model says as it is, in nats."
        )
    near = "" if neighbours_tables(found, "") else " Of fewer than 3 texts nothing is a neighbour."
    return f"Cosine: of a text's vector and what it was, mean over texts; worst: the least.{near}"


def neighbours_tables(found: Compared, command: str) -> tuple[Table, ...]:
    """Return a row an attention: who stays near whom; no table of fewer than 3 texts."""
    short = short_names([one.attention for one in found.swapped])
    rows, top = [], 0
    for one in found.swapped:
        if one.vectors is None or one.vectors.nearest is None or one.vectors.overlap is None:
            return ()
        near, among, top = one.vectors.nearest, one.vectors.overlap, one.vectors.top
        ends = near.value, near.low, near.high, among.value, among.low, among.high
        rows.append((short[one.attention], *ends))
    titles = "nearest", "low", "high", f"top {top}", "low", "high"
    return (
        Table(
            title="Neighbours",
            columns=(Column("attention"), *(Column(title, "percent") for title in titles)),
            rows=tuple(rows),
            note=(
                "Neighbours by cosine. Nearest: of how many texts the nearest other one stays; top "
                f"{top}: how many of the nearest do. Low and high: a 95 % interval over texts."
            ),
            command=command,
        ),
    )


def alone_table(found: Compared, command: str) -> Table:
    """Return a row a layer: what the model loses if that one alone reads something else."""
    names, one = layer_names(found), alone_swapped(found)
    reads = {layer.name: layer for layer in one.layers}
    short = short_names([one.attention for one in found.swapped])[found.alone_of]
    loss = "1 - cosine" if one.vectors is not None else "nats added"
    return Table(
        title=f"One layer at a time: {short}",
        columns=(
            Column("layer"),
            Column(loss, "count"),
            Column("tokens move", "percent"),
            Column("mass kept", "percent"),
            Column("its output moves", "percent"),
        ),
        rows=tuple(
            (names[a.name], a.loss, a.moved, reads[a.name].mass, reads[a.name].moved)
            for a in found.alone
        ),
        note=(
            f"In one layer at a time stands {short}. Tokens move: their states after the last "
            "block, relative to their size. Mass kept: of the softmax of the model as it is, mean "
            "over queries and heads."
        ),
        command=command,
    )


def reads_tables(found: Compared, command: str) -> tuple[Table, ...]:
    """Return, by layer and attention, the mass that is kept and how far its output moves."""
    moves = [one for one in found.swapped if any(layer.moved is not None for layer in one.layers)]
    return (
        *_by_layer(
            found,
            [one for one in found.swapped if not one.untrained],
            ("Mass kept by layer", lambda layer: layer.mass),
            command,
        ),
        *_by_layer(
            found,
            moves,
            ("How far the output of each layer moves", lambda layer: layer.moved),
            command,
        ),
    )


def _by_layer(
    found: Compared,
    swapped: list[Swapped],
    shown: tuple[str, Callable[[LayerRead], float | None]],
    command: str,
) -> tuple[Table, ...]:
    short, names = short_names([one.attention for one in found.swapped]), layer_names(found)
    (title, of), groups = shown, chunks(swapped)
    return tuple(
        Table(
            title=title if len(groups) == 1 else f"{title}, {i} of {len(groups)}",
            columns=(Column("layer"), *(Column(short[one.attention], "percent") for one in group)),
            rows=tuple(
                (names[layers[0].name], *map(of, layers))
                for layers in zip(*(one.layers for one in group), strict=True)
            ),
            note=f"{title}, on the activations of the model as it is, so each layer by itself.",
            command=command,
        )
        for i, group in enumerate(groups, 1)
    )
