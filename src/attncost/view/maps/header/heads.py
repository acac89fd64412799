"""One head as the page's header holds it: arrays in blocks, measures and a price beside."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from attncost.view.maps.arrays.blocks import Blocks
from attncost.view.maps.arrays.pooled import quantised, somewhere
from attncost.view.maps.arrays.rounded import Rounded
from attncost.view.maps.header.hidden import Hidden
from attncost.view.maps.header.measures import measured, number
from attncost.view.prices.heads import HeadPrice
from attncost.view.seen import Seen
from attncost.view.statistics.results import Statistics


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Told:
    """What is known of one call, beside its queries and keys.

    Attributes:
        hidden: Padding.
        found: Statistics of its one sequence.
        prices: Of its heads, those of them that have one.
    """

    hidden: Hidden
    found: Statistics
    prices: Sequence[HeadPrice]


def heads(call: Seen, shown: Rounded, told: Told, blocks: Blocks) -> Iterator[dict[str, object]]:
    """Yield what the entry of each head holds beside its queries.

    Args:
        call: The call.
        shown: As the page multiplies it.
        told: What is known of it.
        blocks: Where arrays go.
    """
    found, m = told.found, call.k.shape[2]
    read = somewhere(
        shown.reads,
        (found.map.shape[2], found.map.shape[3]),
        keys=np.ones(m, bool) if told.hidden.keys is None else ~told.hidden.keys.numpy(),
        queries=found.counted[0].cpu().numpy(),
    )
    prices = {price.head: price for price in told.prices}
    each = zip(call.heads, measured(found, cross=call.cross), strict=True)
    for place, (head, values) in enumerate(each):
        pooled, received, entropy = (
            x[0, place].cpu().numpy() for x in (found.map, found.received, found.entropy)
        )
        yield {
            "lse": blocks.add(shown.lse(place).numpy(), "f32"),
            "map": blocks.add(quantised(pooled, read), "u8"),
            "measures": values,
            "received": blocks.add(received, "f32"),
            "entropy": blocks.add(entropy, "f32"),
            "price": _price(prices.get(head)),
        }


def _price(price: HeadPrice | None) -> dict[str, object] | None:
    if price is None:
        return None
    return {
        "sentence": price.sentence,
        "width": price.width,
        "share": number(price.share),
        "moves": number(price.moves),
    }
