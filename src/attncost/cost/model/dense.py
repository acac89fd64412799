"""The feed-forward of most models: up, an activation or a gate, down.

4 n d f FLOPs, or 6 n d f with a gate
"""

from dataclasses import dataclass
from typing import final

from attncost.core.cost import Cost
from attncost.core.counts import Count
from attncost.cost.model.feed import Feed


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Dense(Feed):
    """Two or three matrices.

    Attributes:
        d_model: Features of a token between layers.
        hidden: Features inside.
        gated: Whether there is a gate (SwiGLU), a third matrix.
        biased: Whether every matrix has a bias.
    """

    d_model: Count
    hidden: Count
    gated: bool = False
    biased: bool = False

    @property
    def learned(self) -> Count:
        """The matrices, and their biases."""
        ups = 2 if self.gated else 1
        biases = ups * self.hidden + self.d_model if self.biased else 0
        return (ups + 1) * self.d_model * self.hidden + biases

    def cost(self, n: Count) -> Cost:
        """Return the products."""
        d, f = self.d_model, self.hidden
        gate = Cost.product(n, d, f).named("feed-forward gate") if self.gated else Cost()
        up = Cost.product(n, d, f).named("feed-forward up")
        return gate + up + Cost.product(n, f, d).named("feed-forward down")

    def kept(self, n: Count) -> Count:
        """Keep what each activation and each product reads: gate, gated, up and their product."""
        return n * self.hidden * (4 if self.gated else 2)

    def live(self, n: Count) -> Count:
        """Hold what goes into the activation and what comes out, then the result."""
        return n * (self.hidden * (3 if self.gated else 2) + self.d_model)
