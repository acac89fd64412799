"""Gated DeltaNet: a state that each token decays, corrects for its key, and reads.

    S = a (S - b k (k' S)) + b k v',  o = S' q         6 h d_k d_v FLOPs a token

The decay is one number for each head. Three products a token: what the state recalls for the key,
what is written for it, what the query reads. Queries and keys are shared by groups of value heads.
"""

from dataclasses import dataclass
from typing import Final, final

from attncost.core.cost import Cost
from attncost.core.counts import Count
from attncost.cost.model.recurrent import Recurrence, Recurrent, convolved

CHUNK: Final = 64


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class GatedDelta(Recurrent):
    """The delta rule with a gate (Yang et al. 2024, arXiv:2412.06464), as in Qwen3-Next.

    Attributes:
        d_model: Features of a token between layers.
        key_heads: Heads of queries and keys.
        value_heads: Heads of values, each with a matrix of the state, `h`.
        key_dim: Features of a query or a key in each head, `d_k`.
        value_dim: Features of a value in each head, `d_v`.
        taps: Tokens that the convolution of queries, keys and values reads.
        chunk: Tokens that are read at once.
    """

    d_model: Count
    key_heads: Count
    value_heads: Count
    key_dim: Count
    value_dim: Count
    taps: Count = 4
    chunk: Count = CHUNK

    @property
    def learned(self) -> Count:
        """The matrices, the convolution, two numbers a head for decay, and the norm of a head."""
        matrices = self.d_model * (self._mixed + 2 * self._values + 2 * self.value_heads)
        return matrices + self._mixed * self.taps + 2 * self.value_heads + self.value_dim

    @property
    def recurrence(self) -> Recurrence:
        """The delta rule in all heads."""
        return delta_rule(self.value_heads, self.key_dim, self.value_dim, chunk=self.chunk)

    @property
    def moved(self) -> Count:
        """How many numbers of a token go into the recurrence and come out."""
        return self._mixed + 2 * self.value_heads + self._values

    @property
    def recent(self) -> Count:
        """Queries, keys and values of the last tokens; one less of each would do."""
        return self._mixed * self.taps

    def before(self, n: Count) -> Cost:
        """Return the projections, those of the output's gate and of both gates of the state too."""
        d = self.d_model
        return (
            Cost.product(n, d, self._mixed + self._values).named("qkvz projection")
            + Cost.product(n, d, 2 * self.value_heads).named("gates of the state")
            + convolved(n, self._mixed, self.taps)
        )

    def after(self, n: Count) -> Cost:
        """Return the projection of the output."""
        return Cost.product(n, self._values, self.d_model).named("output projection")

    def kept(self, n: Count, *, keeps_weights: bool) -> Count:
        """Keep what convolution, recurrence, gated norm and output read, and each chunk's inverse.

        Chunks and states are computed again, as the published kernels do.
        """
        gates, inverse = 2 * self.value_heads, self.chunk * self.value_heads
        return n * (2 * self._mixed + gates + inverse + 3 * self._values)

    def live(self, n: Count, *, keeps_weights: bool) -> Count:
        """Hold what is projected and convolved, the states before each chunk, and the output."""
        projected = self._mixed + self._values + 2 * self.value_heads
        return n * (projected + self._mixed + self._values) + self.recurrence.between_chunks(n)

    @property
    def _values(self) -> Count:
        return self.value_heads * self.value_dim

    @property
    def _mixed(self) -> Count:
        return 2 * self.key_heads * self.key_dim + self._values


def delta_rule(heads: Count, key_dim: Count, value_dim: Count, *, chunk: Count) -> Recurrence:
    """Return the recurrence of a delta rule, whatever decays (Yang et al. 2024, arXiv:2406.06484).

    In a chunk of C tokens, five products weigh its tokens with each other: K K', Q K', the inverse
    of a triangle times K and times V, and weights times values. Three meet the state. The inverse
    is found row by row, i^2 multiply-adds for row i. Triangles are multiplied whole.

    Args:
        heads: Heads of the state.
        key_dim: Features of a key in each head.
        value_dim: Features of a value in each head.
        chunk: Tokens that are read at once, C.
    """
    within = chunk**2 * (3 * key_dim + 2 * value_dim)
    inverse = chunk * (chunk - 1) * (2 * chunk - 1) // 6
    return Recurrence(
        heads=heads,
        rows=key_dim,
        columns=value_dim,
        products=3,
        chunk=chunk,
        in_chunk=heads * (within + inverse + 3 * chunk * key_dim * value_dim),
    )
