"""Kimi Delta Attention: the delta rule with a decay for every feature of a key.

    S = (I - b k k') Diag(a) S + b k v',  o = S' q     6 h d^2 FLOPs a token

Decays and the gate of the output come from the token through a bottleneck of one head's width.
"""

from dataclasses import dataclass
from typing import final

from attncost.core.cost import Cost
from attncost.core.counts import Count
from attncost.cost.model.delta import CHUNK, delta_rule
from attncost.cost.model.recurrent import Recurrence, Recurrent, convolved


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class KimiDelta(Recurrent):
    """KDA of Kimi Linear (Kimi Team 2025, arXiv:2510.26692).

    Attributes:
        d_model: Features of a token between layers.
        heads: Heads, each with a matrix of the state, `h`.
        head_dim: Features of a query, a key or a value in each head, `d`.
        taps: Tokens that the convolution of queries, keys and values reads.
        chunk: Tokens that are read at once.
    """

    d_model: Count
    heads: Count
    head_dim: Count
    taps: Count = 4
    chunk: Count = CHUNK

    @property
    def learned(self) -> Count:
        """The matrices, the convolution, numbers of decays and heads, and the norm of a head."""
        wide, narrow = self._wide, self.head_dim
        bottlenecks = 2 * narrow * (self.d_model + wide)
        matrices = self.d_model * (4 * wide + self.heads) + bottlenecks
        return matrices + (3 * self.taps + 1) * wide + self.heads + narrow

    @property
    def recurrence(self) -> Recurrence:
        """The delta rule in all heads."""
        return delta_rule(self.heads, self.head_dim, self.head_dim, chunk=self.chunk)

    @property
    def moved(self) -> Count:
        """How many numbers of a token go into the recurrence and come out: q, k, v, a, o and b."""
        return 5 * self._wide + self.heads

    @property
    def recent(self) -> Count:
        """Queries, keys and values of the last tokens; one less of each would do."""
        return 3 * self._wide * self.taps

    def before(self, n: Count) -> Cost:
        """Return the projections, those of decays and of the gate of the output too."""
        d, wide = self.d_model, self._wide
        bottleneck = Cost.product(n, d, self.head_dim) + Cost.product(n, self.head_dim, wide)
        return (
            Cost.product(n, d, 3 * wide).named("qkv projection")
            + bottleneck.named("decays of the state")
            + Cost.product(n, d, self.heads).named("gates of the state")
            + bottleneck.named("gate of the output")
            + convolved(n, 3 * wide, self.taps)
        )

    def after(self, n: Count) -> Cost:
        """Return the projection of the output."""
        return Cost.product(n, self._wide, self.d_model).named("output projection")

    def kept(self, n: Count, *, keeps_weights: bool) -> Count:
        """Keep what every product and gate reads, and each chunk's two triangles.

        These are the inverse and the weights; the rest of a chunk, and states, are computed again.
        """
        narrow = 2 * self.head_dim + self.heads
        # Before and after the convolution; decays before and after their exponential; the output
        # before its norm, its gate, and after both.
        return n * (6 * self._wide + 5 * self._wide + narrow + 2 * self.chunk * self.heads)

    def live(self, n: Count, *, keeps_weights: bool) -> Count:
        """Hold what is projected and convolved, the states before each chunk, and the output."""
        projected = 5 * self._wide + self.heads
        return n * (projected + 4 * self._wide) + self.recurrence.between_chunks(n)

    @property
    def _wide(self) -> Count:
        return self.heads * self.head_dim
