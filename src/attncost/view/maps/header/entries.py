"""The layers of a page, in two rounds: first what makes it large, then what takes long.

So a page that is too large is refused before any statistics are made.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, TypeAlias, final

from torch import Tensor

from attncost.core.errors import ShapeError
from attncost.view.maps.arrays.blocks import Blocks
from attncost.view.maps.arrays.rounded import Rounded
from attncost.view.maps.header.calls import Call, decoder
from attncost.view.maps.header.heads import Told, heads
from attncost.view.maps.header.hidden import Hidden
from attncost.view.maps.header.layers import GAUGES, Masks, begun, swap, vectors
from attncost.view.maps.header.measured_call import measured_call
from attncost.view.maps.header.sequences import Sequences
from attncost.view.maps.header.size import Extent, extent, refusal
from attncost.view.prices.heads import HeadPrice, head_prices
from attncost.view.prices.layers import LayerPrice
from attncost.view.seen import Seen
from attncost.view.statistics.gauges import Gauges
from attncost.view.statistics.results import Statistics

Prices: TypeAlias = Mapping[str, tuple[Sequence[HeadPrice], LayerPrice | None]]


# A page that is foretold to be so much too large need not be tried: layers deflate much alike.
_FAR: Final = 2


@final
@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """A call on its way into a page.

    Attributes:
        call: The call.
        hidden: Its padding.
        vectors: Its queries and keys as the page multiplies them.
        entry: What the header says so far.
    """

    call: Call
    hidden: Hidden
    vectors: Rounded
    entry: dict[str, object]


def started(calls: Sequence[Call], sequences: Sequences) -> tuple[Shown, ...]:
    """Return the calls with what a page needs to multiply them again.

    Args:
        calls: The calls.
        sequences: Where tokens go, and with their blocks the arrays.

    Raises:
        ShapeError: If they do not fit into the page, or are not finite.
    """
    masks, shown = Masks(), list[Shown]()
    target = _target(calls)
    for call in calls:
        hidden = Hidden.of(call.seen, target)
        made = vectors(call, hidden, masks)
        queries, keys = sequences.of(call.seen, hidden, source=call.source)
        entry = {**begun(call, made, sequences.blocks), "queries": queries, "keys": keys}
        shown.append(Shown(call, hidden, made, entry))
        check_room(calls, shown, sequences.blocks)
    return tuple(shown)


def finished(
    shown: Sequence[Shown],
    blocks: Blocks,
    *,
    found: Mapping[str, Statistics],
    gauges: Gauges,
    prices: Prices | None,
) -> Iterator[dict[str, object]]:
    """Yield the entries of the layers.

    Args:
        shown: The calls.
        blocks: Where arrays go.
        found: Statistics of one sequence by module; those that are missing are made.
        gauges: The dials of all of them.
        prices: By module; those of heads are worked out if left out.

    Raises:
        ShapeError: If they do not fit into the page.
    """
    target = _target([one.call for one in shown])
    for one in shown:
        known = found.get(one.call.module) if one.call.last else None
        if known is None:
            known = measured_call(one.call.seen, target=target, gauges=gauges)
        of_heads, price = _priced(one.call, known, prices)
        told = Told(hidden=one.hidden, found=known, prices=of_heads)
        begun_heads = one.entry["heads"]
        assert isinstance(begun_heads, list), "an entry has heads"
        rest = heads(one.call.seen, one.vectors, told, blocks)
        whole = [{**head, **more} for head, more in zip(begun_heads, rest, strict=True)]
        check_room([one.call for one in shown], shown, blocks)
        yield {**one.entry, "swap": swap(price), "heads": whole}


def check_room(calls: Sequence[Call], shown: Sequence[Shown], blocks: Blocks) -> None:
    """Refuse what does not fit, or by far will not.

    Args:
        calls: All that shall be in the page.
        shown: Those that are.
        blocks: Its arrays.

    Raises:
        ShapeError: If they do not.
    """
    ratio = blocks.bytes / max(1, blocks.raw)
    held = _extent(calls, shown)
    if blocks.over or held.total * ratio > _FAR * blocks.most:
        raise refusal(held, ratio=ratio or 1.0, most=blocks.most)


def _extent(calls: Sequence[Call], shown: Sequence[Shown]) -> Extent:
    biases = {id(one.vectors.bias): one.vectors.bias for one in shown}
    dense = sum(x.rows.numel() * 4 for x in biases.values() if x and x.kind == "dense")
    return extent([call.seen for call in calls], map_size=GAUGES.map_size, dense=dense)


def one_of(found: Statistics, sequence: int) -> Statistics:
    """Return the statistics of one sequence of a batch."""
    rows = slice(sequence, sequence + 1)
    every = {field.name: getattr(found, field.name) for field in fields(found)}
    cut: dict[str, Any] = {name: x[rows] for name, x in every.items() if isinstance(x, Tensor)}
    return replace(found, **cut)


def gauges_of(found: Mapping[str, Statistics]) -> Gauges:
    """Return the dials of statistics that were given, those of a page if none were.

    Raises:
        ShapeError: If they differ, so that heads cannot be compared.
    """
    every = {one.gauges for one in found.values()}
    if len(every) > 1:
        raise ShapeError(
            "statistics must all have the same gauges, got "
            f"{' and '.join(map(str, every))}: make them with one, such as "
            f"gauges={GAUGES}."
        )
    return every.pop() if every else GAUGES


def _target(calls: Sequence[Call]) -> Seen | None:
    """Return the call that tells cross-attention which of its queries are padding."""
    found = decoder(calls)
    return None if found is None else found.seen


def _priced(
    call: Call, found: Statistics, prices: Prices | None
) -> tuple[Sequence[HeadPrice], LayerPrice | None]:
    """Return the prices of a call: those given if they are of this very one."""
    if prices is None:
        return head_prices(call.seen, found), None
    return prices.get(call.module, ((), None)) if call.last else ((), None)
