"""Attention of which some formulas are symbols, so that those of a whole model stay short.

    FLOPs of a model = b (L (projections + C) + head),  C told, its own formula a line below

What is told says nothing of its own: every other formula is that of the attention inside.
"""

from dataclasses import dataclass
from typing import final

from attncost.core.cost import Cost
from attncost.core.counts import Count
from attncost.cost.model.grouped import Grouped
from attncost.cost.model.mixer import Mixer
from attncost.mechanisms.interface import Priced
from attncost.patterns.interface import Pattern


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Told(Mixer):
    """Attention with symbols in place of its core, and of what its layer holds.

    Attributes:
        inner: The attention itself.
        numbers: How many it learns; as many as the attention inside, if left out.
        useful: FLOPs that it costs that tokens meet.
        held: Numbers that the layer keeps for a backward pass, beside its norms.
        alive: Numbers that are alive at once in the layer.
    """

    inner: Grouped
    numbers: Count = None
    useful: Count = 0
    held: Count = 0
    alive: Count = 0

    @property
    def learned(self) -> Count:
        """What is told, or as many numbers as the attention inside."""
        return self.inner.learned if self.numbers is None else self.numbers

    def before(self, n: Count) -> Cost:
        """Return its projections."""
        return self.inner.before(n)

    def after(self, n: Count) -> Cost:
        """Return the projection of its output."""
        return self.inner.after(n)

    def core(self, _n: Count, _m: Count, _attention: Pattern | Priced | None = None) -> Cost:
        """Return what is told."""
        return Cost(useful=self.useful)

    def cached(self, n: Count) -> Count:
        """Keep what the attention inside keeps."""
        return self.inner.cached(n)

    def kept(self, _n: Count, *, keeps_weights: bool) -> Count:
        """Return what is told."""
        return self.held

    def live(self, _n: Count, *, keeps_weights: bool) -> Count:
        """Return what is told."""
        return self.alive

    @property
    def softmax_heads(self) -> Count:
        """As many as the attention inside."""
        return self.inner.softmax_heads

    @property
    def split(self) -> tuple[Count, Count]:
        """Both kinds of heads of the attention inside."""
        return self.inner.split
