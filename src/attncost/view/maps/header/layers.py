"""One call as the page's header holds it: queries, keys, what is read, and its heads.

queries and keys take 4 n d bytes a head before they are packed; nothing takes n m
but a bias that depends on more than the distance
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, final

from torch import Tensor

from attncost.view.maps.arrays.biases import Bias, hides, kept, opened
from attncost.view.maps.arrays.blocks import Blocks
from attncost.view.maps.arrays.rounded import Rounded, rounded
from attncost.view.maps.arrays.spans import Reads, reads
from attncost.view.maps.header.calls import Call
from attncost.view.maps.header.hidden import Hidden
from attncost.view.maps.header.measures import number
from attncost.view.prices.layers import LayerPrice
from attncost.view.seen import Seen
from attncost.view.statistics.gauges import Gauges

# Fine enough for a thumbnail and an overview; closer up a page computes every weight.
GAUGES: Final = Gauges(map_size=128)

T = TypeVar("T")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Masks:
    """What calls read and add to their scores; layers that share a mask have it worked out once."""

    _known: dict[object, Any] = field(default_factory=dict)

    def reads(self, seen: Seen) -> Reads:
        """Return what one call of one sequence reads, padding aside."""
        (n, m), segments, bias = _lengths(seen), seen.wishes.get("segments"), self._hiding(seen)
        return self._once(
            ("reads", seen.pattern, n, m, _mark(segments), _mark(bias)),
            lambda: reads(
                seen.pattern,
                n,
                m,
                segments=None if segments is None else segments[0],
                open_=None if bias is None else lambda rows: opened(bias[0], rows),
            ),
        )

    def bias(self, seen: Seen) -> Bias | None:
        """Return what one call of one sequence adds where it hides nothing."""
        (n, m), bias = _lengths(seen), seen.wishes.get("bias")
        if bias is None:
            return None
        return self._once(("bias", n, m, _mark(bias)), lambda: kept(bias[0], n, m))

    def _hiding(self, seen: Seen) -> Tensor | None:
        """Return the bias if it hides anything."""
        bias = seen.wishes.get("bias")
        if bias is None:
            return None
        return bias if self._once(("hides", _mark(bias)), lambda: hides(bias[0])) else None

    def _once(self, key: object, found: Callable[[], T]) -> T:
        if key not in self._known:
            self._known[key] = found()
        # A key says what it is of.
        return self._known[key]  # type: ignore[no-any-return]


def vectors(call: Call, hidden: Hidden, masks: Masks) -> Rounded:
    """Return one call as the page multiplies it.

    Args:
        call: The call.
        hidden: Its padding.
        masks: What earlier ones read.
    """
    seen = call.seen
    return rounded(seen, reads=masks.reads(seen), bias=masks.bias(seen), padded=hidden.keys)


def begun(call: Call, shown: Rounded, blocks: Blocks) -> dict[str, object]:
    """Return what a page needs to multiply a call again; its heads hold nothing else yet.

    Args:
        call: The call.
        shown: The same, as it is multiplied.
        blocks: Where arrays go.
    """
    seen, found = call.seen, shown.reads
    n, m = _lengths(seen)
    return {
        "name": call.title,
        "number": call.number,
        "n": n,
        "m": m,
        "d": seen.q.shape[3],
        "cross": seen.cross,
        "causal": found.causal and not seen.cross,
        "pattern": str(seen.pattern),
        "scale": shown.scale,
        "softcap": shown.softcap,
        "alibi": None if shown.alibi is None else shown.alibi.tolist(),
        "reads": None if found.everything else _reads(found, blocks),
        "bias": None if shown.bias is None else _bias(shown.bias, blocks),
        "keys_of": [blocks.add(keys.numpy(), "f16") for keys in shown.k],
        "heads": [
            {"number": head, "group": shown.group(place), "q": blocks.add(q.numpy(), "f16")}
            for place, (head, q) in enumerate(zip(seen.heads, shown.q, strict=True))
        ],
    }


def swap(price: LayerPrice | None) -> dict[str, object] | None:
    """Return the line that makes a layer cheaper, and what it does."""
    if price is None:
        return None
    return {
        "line": price.line,
        "sentence": price.sentence,
        "share": number(price.share),
        "damage": number(price.damage),
    }


def _reads(found: Reads, blocks: Blocks) -> dict[str, object]:
    return {"counts": blocks.add(found.counts, "i32"), "gaps": blocks.add(found.gaps(), "i32")}


def _bias(bias: Bias, blocks: Blocks) -> dict[str, object]:
    return {"kind": bias.kind, "rows": blocks.add(bias.rows.numpy(), "f32")}


def _lengths(seen: Seen) -> tuple[int, int]:
    return seen.q.shape[2], seen.k.shape[2]


def _mark(x: Tensor | None) -> object:
    """Return what tells tensors apart that are kept meanwhile."""
    return None if x is None else (x.data_ptr(), tuple(x.shape), x.stride(), x.dtype)
