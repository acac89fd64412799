"""Where the memory goes: each part with its equation, and all of them over the length."""

from collections.abc import Sequence
from typing import Any, Final

from attncost.core.units import show
from attncost.cost.planning.needs import Need, total
from attncost.draw.chart import Axis, Chart, Mark, Point, Series
from attncost.report.document import Column, Figure, Section, Table
from attncost.report.planning import Way

_DRAWN: Final = 8  # lengths of a chart, each twice the one before
_ORDER: Final = ("weights", "gradients", "optimizer", "cache", "state", "activations", "logits")


def held(way: Way, *, command: str) -> Section:
    """Return where memory goes at the size that was asked for, or at the greatest that fits."""
    length, batch = way.size()
    parts, size = way.needs(length, batch), f"batch {batch:,} of {length:,} tokens"
    estimates = [part.part for part in parts if not part.exact]
    return Section(
        title=f"Where the memory goes: {way.how.work}",
        text=(f"{size.capitalize()}, {way.how.kernel}.",),
        blocks=(
            _parts(parts, f"{way.how.work}, {way.how.kernel}, {size}", command),
            _equations(parts, way.how.work, command, estimates),
            over_length(way, batch=batch, command=command),
        ),
    )


def over_length(way: Way, *, batch: int, command: str) -> Figure:
    """Return the memory of every part over the length, against what there is.

    Args:
        way: How the model is run.
        batch: Sequences.
        command: What reproduces it.
    """
    greatest = way.longest(batch).greatest
    lengths = _lengths(2 * (greatest or way.length), way.model.longest)
    rows: list[dict[str, int]] = [
        {part.part: part.bytes for part in way.needs(n, batch)} for n in lengths
    ]
    names = [name for name in _ORDER if any(name in row for row in rows)]
    whole = f"{way.model.name}, {way.how.work}, {way.how.kernel}, batch {batch:,}"
    series = [_series(name, lengths, [row.get(name, 0) for row in rows]) for name in names]
    series.append(_series("together", lengths, [sum(row.values()) for row in rows]))
    memory = show(way.request.memory, "bytes")
    series.append(_series(f"there are {memory}", lengths, [way.request.memory] * len(lengths)))
    marks = (Mark(greatest, "longest"),) if greatest else ()
    chart = Chart(
        title=f"Memory of {whole}",
        description=f"Bytes of each part over tokens, and the {memory} that there are: {whole}.",
        x=Axis(label="tokens", unit="tokens"),
        y=Axis(label="bytes of one device", unit="bytes"),
        series=tuple(series),
        marks=marks,
    )
    table = Table(
        title=f"Memory of {whole}, over tokens",
        columns=(
            Column("tokens", "tokens"),
            *(Column(name, "bytes") for name in (*names, "together")),
        ),
        rows=tuple(
            (n, *(row.get(name) for name in names), sum(row.values()))
            for n, row in zip(lengths, rows, strict=True)
        ),
        command=command,
    )
    return Figure(chart, table)


def _parts(parts: tuple[Need, ...], size: str, command: str) -> Table:
    whole = total(parts)
    rows: list[tuple[Any, ...]] = [
        (one.part, one.bytes, one.bytes / whole, "exact" if one.exact else "estimate")
        for one in parts
    ]
    return Table(
        title=f"Memory of one device: {size}",
        columns=(
            Column("part"),
            Column("memory", "bytes"),
            Column("share", "percent"),
            Column("known"),
        ),
        rows=(*rows, ("together", whole, 1.0, None)),
        command=command,
    )


def _equations(parts: tuple[Need, ...], work: str, command: str, estimates: Sequence[str]) -> Table:
    rows = tuple((one.part, one.equation) for one in parts)
    return Table(
        title=f"How the parts of {work} come about",
        columns=(Column("part"), Column("equation")),
        rows=rows,
        note=f"Estimates, of a plain implementation in PyTorch: {', '.join(estimates)}."
        if estimates
        else "",
        command=command,
    )


def _lengths(most: int, longest: int | None) -> Sequence[int]:
    """Return powers of two that end beyond what fits, or with the last of all positions."""
    top = 1 << max(most - 1, 1).bit_length()
    found = [top >> step for step in reversed(range(_DRAWN)) if top >> step]
    if longest is None or longest >= top:
        return found
    return [*(n for n in found if n < longest), longest]


def _series(name: str, lengths: Sequence[int], values: Sequence[int]) -> Series:
    pairs = zip(lengths, values, strict=True)
    return Series(name, tuple(Point(n, value) for n, value in pairs if value))
