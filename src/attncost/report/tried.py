"""What if: other lengths and attentions, how fast they could be, and what their tokens cost."""

from collections.abc import Iterator
from typing import Any

from attncost.cost.configuration import Configuration
from attncost.cost.planning.needs import total
from attncost.cost.planning.situation import Situation
from attncost.cost.planning.speed import Rates, flops, speed
from attncost.report.document import Column, Section, Table
from attncost.report.planning import Request, Way


def what_if(request: Request) -> tuple[Section, ...]:
    """Return what each length would take with each attention; nothing if no length is tried."""
    if not request.lengths:
        return ()
    return tuple(_section("What if", tried(way), way) for way in _alike(request))


def speeds(request: Request) -> tuple[Section, ...]:
    """Return how fast each could be, and its price; nothing if no rates are known."""
    if request.rates is None:
        return ()
    found = ((way, _fast(way, request.rates)) for way in _alike(request))
    return tuple(_section("Speed", table, way) for way, table in found if table.rows)


def _section(title: str, table: Table, way: Way) -> Section:
    return Section(title=f"{title}: {way.how.work}, {way.attention}", blocks=(table,))


def _alike(request: Request) -> Iterator[Way]:
    """Give the first way of each work with every attention."""
    hows = [main.how for main in request.main]
    return (way for way in request.ways() if way.how in hows)


def tried(way: Way) -> Table:
    """Return what the lengths to try would take in one way."""
    return Table(
        title=f"What if: {way.model.name}, {way.how.work}, {way.attention}",
        columns=(
            Column("tokens", "tokens"),
            Column("memory", "bytes"),
            Column("fits"),
            Column("cache", "bytes"),
            Column("all FLOPs", "flops"),
            Column("attention's", "percent"),
        ),
        rows=tuple(_row(way, n) for n in way.request.lengths),
        note=f"Batch {way.batch:,}, {way.how.kernel}. Attention's: its share of the FLOPs.",
        command=way.request.command,
    )


def _row(way: Way, n: int) -> tuple[Any, ...]:
    parts = way.needs(n, way.batch)
    fits = "yes" if total(parts) <= way.request.memory else "no"
    cache = sum(part.bytes for part in parts if part.part in ("cache", "state"))
    flops = flops_of(way.model, way.how, n)
    share = _core(way, n) / flops if flops else None
    return (n, total(parts), fits, cache or None, flops * way.batch, share)


def _core(way: Way, n: int) -> int:
    """Return the FLOPs of one sequence between the projections."""
    if way.how.work == "decode":
        return int(way.model.decode_core(n).useful)
    training = way.how.work == "training"
    return int(way.model.core(n).useful) * (3 + way.how.checkpointing if training else 1)


def flops_of(model: Configuration, how: Situation, n: int) -> int:
    """Return the FLOPs of one sequence, with logits of all tokens where it is read."""
    if how.work == "prefill":
        return int(model.flops(n))
    return int(flops(model, how, length=n))


def _fast(way: Way, rates: Rates) -> Table:
    length, batch = way.size()
    least, most = ("", "") if rates.measured else (" ≥", " ≤")
    columns = [
        Column("tokens", "tokens"),
        Column(f"time{least}", "seconds"),
        Column(f"tokens/s{most}", "count"),
        Column("equation of the time"),
    ]
    per_hour, devices = way.request.price, way.how.sharding.devices
    if per_hour is not None:
        columns.insert(3, Column(f"price{least}", "count"))
    rows = []
    for n in sorted({length, *way.request.lengths}):
        if way.bytes(n, batch) > way.request.memory:
            continue
        one = speed(way.model, way.how, rates, length=n, batch=batch)
        price = () if per_hour is None else (one.price(per_hour, devices=devices),)
        rows.append((n, one.seconds, one.tokens_per_second, *price, one.equation))
    return Table(
        title=f"Speed of {way.how.work}, {way.attention}, batch {batch:,}",
        columns=tuple(columns),
        rows=tuple(rows),
        note=" ".join((_said(rates, batch), _price(per_hour, devices))).rstrip(),
        command=way.request.command,
    )


def _said(rates: Rates, batch: int) -> str:
    """Say whose the rates are, and what that makes of times."""
    if rates.measured:
        return f"Batch {batch:,}; by {rates.source}, which was measured: estimates, not bounds."
    return f"Batch {batch:,}; ≥ at least, ≤ at most: by {rates.source}."


def _price(per_hour: float | None, devices: int) -> str:
    """Say what a price is of."""
    if per_hour is None:
        return ""
    machine = "a device" if devices == 1 else f"each of {devices:,} devices"
    return f"Price: of a million tokens, at {per_hour:g} an hour for {machine}."
