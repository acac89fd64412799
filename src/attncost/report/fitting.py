"""What fits: a sentence for each work, and tables of every way to run the model."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final

from attncost.core.units import show
from attncost.cost.planning.fit import Fit
from attncost.cost.planning.needs import Need, total
from attncost.report.document import Column, Finding, Section, Table
from attncost.report.planning import Request, Way
from attncost.report.remedies import remedies

_PLURAL: Final = frozenset(
    {"weights", "gradients", "activations", "logits", "positions"}
    | {"parameters", "buffers", "inputs", "temporaries"}
)
_WAY: Final = (Column("work"), Column("kernel"), Column("attention"))


def findings(request: Request) -> tuple[Finding, ...]:
    """Return what fits of each work, in a sentence."""
    return tuple(_finding(request, way) for way in request.main)


def what_fits(request: Request) -> tuple[Section, ...]:
    """Return the longest sequence and the largest batch of every way to run the model."""
    tables = {"The longest that fits": _longest(request), "The most that fit": _batches(request)}
    if request.length and request.batch:
        tables = {"What was asked": _asked(request)} | tables
    return tuple(Section(title=title, blocks=(table,)) for title, table in tables.items())


def facts(request: Request) -> list[dict[str, Any]]:
    """Return the same as plain data, every digit of it."""
    return [
        {
            "attention": way.attention,
            **asdict(way.how),
            "batch": way.batch,
            "longest": asdict(way.longest()),
            "length": way.length,
            "largest_batch": asdict(way.largest_batch()),
            "fits": way.answer(),
        }
        for way in request.ways()
    ]


def sentence(way: Way, fit: Fit) -> str:
    """Say which length fits, or which batch of the length that was asked for."""
    by, work = f"({way.how.kernel})", way.how.work
    length = way.request.length
    what = f"sequences of {length:,} tokens" if length else "tokens"
    at = "" if length else f" at batch {way.batch:,}"
    if fit.greatest is None:
        return f"{work}: any number of {what} fits{at} {by}: none takes more memory."
    if not fit.greatest:
        return _none(way, fit)
    if fit.limit == "positions":
        return f"{work}: all {fit.greatest:,} {what} that it has positions for fit{at} {by}."
    return (
        f"{work}: {fit.greatest:,} {what} fit{at} {by}; one more does not: "
        f"{blamed(fit.limit)} in the way."
    )


def greatest(fit: Fit) -> int | str:
    """Return the greatest size that fits as a cell."""
    return "any" if fit.greatest is None else fit.greatest or "none"


def blamed(part: str) -> str:
    """Begin to say what a part does.

    >>> blamed("weights"), blamed("cache")
    ('the weights are', 'the cache is')
    """
    return f"the {part} {'are' if part in _PLURAL else 'is'}"


def _finding(request: Request, way: Way) -> Finding:
    if request.length and request.batch:
        text, values = _verdict(way, request.length, request.batch)
    else:
        fit = way.largest_batch() if request.length else way.longest()
        size = {"length": request.length} if request.length else {"batch": way.batch}
        text, values = sentence(way, fit), {**size, "greatest": fit.greatest, "limit": fit.limit}
    values = {"kernel": way.how.kernel, "attention": way.shown, **values}
    return Finding(key=way.how.work, text=text, values=values, command=request.command)


def _verdict(way: Way, length: int, batch: int) -> tuple[str, dict[str, Any]]:
    parts, memory = way.needs(length, batch), way.request.memory
    held = show(total(parts), "bytes")
    what = f"{way.how.work}: batch {batch:,} of {length:,} tokens"
    values = {"length": length, "batch": batch, "bytes": total(parts)}
    if total(parts) <= memory:
        return f"{what} fits ({way.how.kernel}): {held} of {_memory(way)}.", values
    return (
        f"{what} does not fit ({way.how.kernel}): {held}, there are {_memory(way)}; "
        f"{blamed(_most(parts))} the largest part."
    ), values


def _none(way: Way, fit: Fit) -> str:
    held, what = show(total(fit.parts), "bytes"), "one token"
    if way.request.length:
        what = f"one sequence of {way.request.length:,} tokens"
    nothing = f"{way.how.work}: not even {what} fits ({way.how.kernel}): {held}, there are"
    largest = f"{blamed(_most(fit.parts))} the largest part"
    return f"{nothing} {_memory(way)}; {largest}. {remedies(way).capitalize()}."


def _most(parts: tuple[Need, ...]) -> str:
    return max(parts, key=lambda part: part.bytes).part


def _memory(way: Way) -> str:
    return show(way.request.memory, "bytes")


def _longest(request: Request) -> Table:
    return Table(
        title=f"Longest sequences in {show(request.memory, 'bytes')}",
        columns=(*_WAY, Column("batch", "exact"), Column("tokens", "tokens"), Column("then")),
        rows=tuple(_row(way, way.batch, way.longest()) for way in request.ways()),
        note=(
            "Then: what stands in the way of one more. Naive keeps all weights of attention, "
            "fused keeps none."
        ),
        command=request.command,
    )


def _batches(request: Request) -> Table:
    return Table(
        title=f"Most sequences in {show(request.memory, 'bytes')}",
        columns=(*_WAY, Column("tokens", "tokens"), Column("batch", "exact"), Column("then")),
        rows=tuple(_row(way, way.length, way.largest_batch()) for way in request.ways()),
        command=request.command,
    )


def _row(way: Way, size: int, fit: Fit) -> tuple[Any, ...]:
    return (way.how.work, way.how.kernel, way.shown, size, greatest(fit), fit.limit)


def _asked(request: Request) -> Table:
    assert request.length
    return Table(
        title=f"Batch {request.batch:,} of {request.length:,} tokens",
        columns=(*_WAY, Column("memory", "bytes"), Column("of it", "percent"), Column("fits")),
        rows=tuple(_verdicts(request, request.length)),
        command=request.command,
    )


def _verdicts(request: Request, length: int) -> Iterator[tuple[Any, ...]]:
    for way in request.ways():
        held = way.bytes(length)
        share, fits = held / request.memory, "yes" if way.fits(length) else "no"
        yield (way.how.work, way.how.kernel, way.shown, held, share, fits)
