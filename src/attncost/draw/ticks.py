"""Which values an axis names: the most round ones whose labels do not meet.

Sets of round values are tried from many to few. Tokens and bytes are round in powers of two,
everything else in powers of ten and, on a short axis, at 1, 2 and 5 times those.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, final

from attncost.core.units import show
from attncost.draw.chart import Axis
from attncost.draw.scale import Scale

# Below this factor between its ends a logarithmic axis is named like a linear one.
_SHORT: Final = 4
_ZEROS: Final = re.compile(r"(?:\.0+|(\.\d*?[1-9])0+)(?=\D|$)")
# Units that read better once beside the axis than on every tick.
_ONCE: Final = {"flops": "FLOPs", "rate": "FLOP/s"}


@final
@dataclass(frozen=True, slots=True)
class Tick:
    """A named value and its position."""

    at: float
    label: str


def ticks(scale: Scale, axis: Axis, room: Callable[[str], float]) -> tuple[Tick, ...]:
    """Return the ticks of an axis.

    Args:
        scale: Where its values stand.
        axis: Its unit, and whether it is logarithmic.
        room: How much of the axis a label takes, its distance to the next one included.
    """
    few: tuple[Tick, ...] = ()
    for values in _choices(scale, axis):
        inside = [v for v in values if scale.low <= v <= scale.high]
        few = tuple(Tick(scale(v), label(v, axis.unit)) for v in inside) or few
        if len(few) > 1 and _apart(few, room):
            return few
    return few[:1]


def label(value: float, unit: str) -> str:
    """Write a round value without idle zeros.

    >>> label(0.001, "seconds"), label(2e9, "flops"), label(65536, "tokens"), label(1.5, "times")
    ('1 ms', '2 G', '65,536', '1.5 x')
    """
    if unit == "tokens" and value >= 1e6:
        unit = "count"
    return _ZEROS.sub(r"\1", show(value, "count" if unit in _ONCE else unit))


def heading(axis: Axis) -> str:
    """Return what stands beside an axis: its label, and the unit where no tick carries it.

    >>> heading(Axis(label="cost of a layer", unit="flops"))
    'cost of a layer (FLOPs)'
    """
    unit = _ONCE.get(axis.unit, "")
    return axis.label if unit in axis.label else f"{axis.label} ({unit})"


def _apart(few: tuple[Tick, ...], room: Callable[[str], float]) -> bool:
    return all(
        abs(b.at - a.at) >= (room(a.label) + room(b.label)) / 2 and a.label != b.label
        for a, b in pairwise(few)
    )


def _choices(scale: Scale, axis: Axis) -> Iterator[Iterable[float]]:
    """Offer sets of round values, many first."""
    binary = axis.unit in ("tokens", "bytes")
    if not axis.log:
        yield from _multiples(scale, 2 if axis.unit == "bytes" else 10)
        return
    if scale.high < _SHORT * scale.low:
        yield from _multiples(scale, 2 if axis.unit == "bytes" else 10)
    if not binary:
        yield _powers(scale, 10, 1, (1, 2, 5))
    # Steps of ten keep bytes on whole prefixes.
    for step in (1, 2, 5, 10, 20, 40) if axis.unit == "bytes" else (1, 2, 3, 4, 6, 8, 12, 24):
        yield _powers(scale, 2 if binary else 10, step)


def _powers(scale: Scale, base: int, step: int, factors: tuple[int, ...] = (1,)) -> Iterator[float]:
    # One step beyond each end, because a logarithm may round either way.
    first = math.floor(math.log(scale.low, base) / step) - 1
    last = math.ceil(math.log(scale.high, base) / step) + 1
    for power in range(first, last + 1):
        yield from (factor * float(base) ** (power * step) for factor in factors)


def _multiples(scale: Scale, base: int) -> Iterator[Iterator[float]]:
    factors = (1,) if base == 2 else (1, 2, 5)
    span = scale.high - scale.low
    power = math.floor(math.log(span / 12, base))
    while float(base) ** power <= span:
        for factor in factors:
            yield _every(scale, factor, base, power)
        power += 1


def _every(scale: Scale, factor: int, base: int, power: int) -> Iterator[float]:
    # Dividing by a whole power gives 0.3, multiplying by a fraction 0.30000000000000004.
    up, down = float(base) ** max(power, 0), float(base) ** max(-power, 0)
    step = factor * up / down
    # And 0.7 / 0.1 is a little less than 7.
    first, last = math.ceil(scale.low / step - 1e-9), math.floor(scale.high / step + 1e-9)
    for k in range(first, last + 1):
        yield k * factor * up / down
