"""How large a page may be, and in words what would fit if it is larger.

    queries and keys   2 (h n + g m) d bytes a layer      statistics   about 12 n + 16,384 a head

Times 4/3 for base64, less what deflating takes away.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from attncost.core.errors import ShapeError
from attncost.core.units import show
from attncost.view.seen import Seen

# A browser opens it at once and a mail still takes it.
MOST: Final = 50 * 10**6
_MB: Final = 10**6
# Bytes in a page for each of queries and keys, deflated and in base64.
_PACKED: Final = 1.2
# Of each query an entropy and a log-sum-exp, of each key what it receives.
_NUMBERS: Final = 4
# Above this share the pooled maps are worth making smaller.
_MUCH: Final = 0.2


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Extent:
    """What a page would hold, in bytes before they are packed.

    Attributes:
        layers: How many.
        heads: Of all layers together.
        tokens: Of the longest sequence.
        vectors: Queries and keys.
        numbers: What is kept of each query and key beside them.
        maps: Pooled maps.
        biases: What is added to scores, written out for each query and key.
    """

    layers: int
    heads: int
    tokens: int
    vectors: int
    numbers: int
    maps: int
    biases: int

    @property
    def total(self) -> int:
        """Return all bytes."""
        return self.vectors + self.numbers + self.maps + self.biases


def extent(calls: Sequence[Seen], *, map_size: int, dense: int) -> Extent:
    """Return what a page of these calls would hold.

    Args:
        calls: Each of one sequence.
        map_size: The most rows and columns of a pooled map.
        dense: Bytes of the biases that do not depend on the distance alone.
    """
    sizes = [(*seen.q.shape[1:], *seen.k.shape[1:3]) for seen in calls]
    return Extent(
        layers=len(sizes),
        heads=sum(h for h, *_ in sizes),
        tokens=max(max(n, m) for _, n, _, _, m in sizes),
        vectors=sum(2 * d * (h * n + g * m) for h, n, d, g, m in sizes),
        numbers=sum(_NUMBERS * h * (2 * n + m) for h, n, _, _, m in sizes),
        maps=sum(h * min(n, map_size) * min(m, map_size) for h, n, _, _, m in sizes),
        biases=dense,
    )


def check_foreseen(calls: Sequence[Seen], *, map_size: int) -> None:
    """Refuse what no page can hold, before the rest of the work; packing it says it exactly.

    Args:
        calls: Each of one sequence.
        map_size: The most rows and columns of a pooled map.

    Raises:
        ShapeError: If it is far too much.
    """
    held = extent(calls, map_size=map_size, dense=0)
    if held.total > MOST:
        raise refusal(held, ratio=_PACKED)


def refusal(held: Extent, *, ratio: float, most: int = MOST) -> ShapeError:
    """Return the error for a page that would be too large, with what would fit.

    Args:
        held: What it would hold.
        ratio: Bytes in the page for each of those.
        most: Bytes that it may take.
    """
    size = max(held.total * ratio, most + _MB)
    fits = most / size
    parts = {
        "queries and keys": held.vectors,
        "numbers of each token": held.numbers,
        "pooled maps": held.maps,
        "biases of each query and key": held.biases,
    }
    largest = max(parts, key=lambda name: parts[name])
    options = [
        f"fewer {what} (about {int(fits * count):,} of {count:,} fit)"
        for what, count in (
            ("layers", held.layers),
            ("heads", held.heads),
            ("tokens", held.tokens),
        )
        if int(fits * count)
    ]
    if held.maps > _MUCH * held.total:
        options.append("smaller pooled maps (map_size of Gauges)")
    return ShapeError(
        f"the page would take about {size / _MB:,.0f} MB and may take {most / _MB:,.0f}, "
        f"{show(parts[largest] / held.total, 'percent')} of it {largest}: show {_or(options)}."
    )


def _or(options: list[str]) -> str:
    return " or ".join([", ".join(options[:-1]), options[-1]] if options[1:] else options)
