"""A machine from formulas: the roofline of a call, and of the attention of each sequence.

    rest(slots)    = start + max(FLOPs / peak, weights / bandwidth)
    attend(length) = max(FLOPs / peak, bytes / bandwidth)           of all pairs if dense
    packed.text    = layers * each

A call reads all weights once, however few slots it has: a batch pays where its arithmetic takes
longer than that. Both are bounds, as any roofline is (Williams et al. 2009,
doi:10.1145/1498765.1498785); rates that were measured, in place of peaks, make them estimates. All
is one forward pass on one device. A training step takes three times as long, which chooses no other
way.
"""

from typing import Final, final

from attncost.batches.machine import AT_ONCE, Looping
from attncost.cost.configuration import Configuration
from attncost.cost.interface import SequenceCost
from attncost.cost.planning.precision import BITS, stored
from attncost.cost.planning.situation import Situation
from attncost.cost.planning.speed import Rates

# What Python and the queue of an accelerator take for a call before there is arithmetic.
START: Final = 1e-3

# Bits of a number in float32, in which formulas count the bytes of attention.
_COUNTED: Final = 32.0


@final
class Roofline:
    """A `Machine` from the cost of a sequence, and what a device does in a second."""

    __slots__ = (
        "_cost",
        "_first",
        "_further",
        "_least",
        "_rates",
        "_share",
        "_start",
        "name",
        "packed",
    )

    def __init__(
        self,
        cost: SequenceCost,
        rates: Rates,
        *,
        weights: int,
        start: float = START,
        packed: Looping = AT_ONCE,
        bits: float = _COUNTED,
    ) -> None:
        """Take the formulas.

        Args:
            cost: Of one sequence.
            rates: Of the device.
            weights: Bytes that a call reads once.
            start: Seconds of a call, whatever lies in it.
            packed: What a packed row takes more if its texts are taken apart.
            bits: Of a number that attention reads or writes.
        """
        self.name = f"{cost.name}, {rates.source}"
        self._cost, self._rates = cost, rates
        self._start, self.packed = start, packed
        self._least = weights / rates.bytes
        self._share = bits / _COUNTED
        # All that is not attention grows with its tokens.
        self._first = int(cost.linear(1).executed)
        self._further = int(cost.linear(2).executed) - self._first

    def rest(self, slots: int) -> float:
        """Return the seconds of one call on so many slots without its attention."""
        flops = self._first + (slots - 1) * self._further
        return self._start + max(flops / self._rates.flops, self._least)

    def attend(self, length: int, *, dense: bool = False) -> float:
        """Return the seconds of the attention of one sequence, in all layers.

        Args:
            length: Its tokens.
            dense: Whether all pairs are multiplied under a mask, whatever the pattern.
        """
        core = self._cost.core(length)
        flops = int(core.dense if dense else core.executed)
        moved = int(core.bytes) * self._share
        return max(flops / self._rates.flops, moved / self._rates.bytes)


def machine_of(
    model: Configuration,
    rates: Rates,
    *,
    how: Situation | None = None,
    start: float = START,
    each: float = 0.0,
) -> Roofline:
    """Return a model on a device that is known by its rates.

    >>> from attncost.cost.reading import preset
    >>> peaks = Rates(flops=1e14, bytes=1e12, source="a device")
    >>> bert = machine_of(preset("bert-base"), peaks, start=0.0)
    >>> bert.name, bert.rest(1) == bert.rest(32), bert.rest(8192) > bert.rest(4096)
    ('bert-base, a device', True, True)

    Args:
        model: The sizes.
        rates: Of the device.
        how: Says the precisions; the rest of it is not asked for.
        start: Seconds of a call, whatever lies in it.
        each: Seconds that a packed text takes to begin with, in each layer: 0 for a kernel that
            takes all texts of a row at once, as `varlen` does on a GPU; about 5e-6 for one that is
            launched anew.
    """
    how = how or Situation()
    layers = sum(int(times) for _, times in model.mixers())
    return Roofline(
        model,
        rates,
        weights=stored(int(model.multiplied), how.weights),
        start=start,
        packed=Looping(text=each * layers),
        bits=float(BITS[how.activations]),
    )
