"""Mamba-2: a state space whose decay is one number for each head and token.

    S = a S + x B',  y = S C           4 h p N FLOPs a token

Two products a token: what it writes and what it reads. B and C are shared by groups of heads.
"""

from dataclasses import dataclass
from typing import final

from attncost.core.cost import Cost
from attncost.core.counts import Count
from attncost.cost.model.recurrent import Recurrence, Recurrent, convolved


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Mamba2(Recurrent):
    """State space duality (Dao and Gu 2024, arXiv:2405.21060).

    Attributes:
        d_model: Features of a token between layers.
        heads: Heads, each with a matrix of the state, `h`.
        head_dim: Features of a head, `p`.
        groups: Groups of heads with the same B and C, `g`.
        state_dim: Features of B and C, `N`.
        taps: Tokens that the convolution of x, B and C reads.
        chunk: Tokens that are read at once.
        biased: Whether the projections have biases.
        convolution_biased: Whether the convolution has one.
    """

    d_model: Count
    heads: Count
    head_dim: Count
    groups: Count = 1
    state_dim: Count
    taps: Count = 4
    chunk: Count = 256
    biased: bool = False
    convolution_biased: bool = True

    @property
    def learned(self) -> Count:
        """The matrices, the convolution, three numbers a head, the norm of all heads, biases."""
        d = self.d_model
        taps = self.taps + (1 if self.convolution_biased else 0)
        biases = self._projected + d if self.biased else 0
        matrices = d * (self._projected + self._inner)
        return matrices + self._mixed * taps + 3 * self.heads + self._inner + biases

    @property
    def recurrence(self) -> Recurrence:
        """The recurrence; in a chunk C B' of each group and its product with x, then the state.

        The state is read and written once a chunk, as in section 6 of the paper; it goes from chunk
        to chunk by decay and sum, which is elementwise.
        """
        q, p, wide = self.chunk, self.head_dim, self.state_dim
        return Recurrence(
            heads=self.heads,
            rows=p,
            columns=wide,
            products=2,
            chunk=q,
            in_chunk=self.groups * q**2 * wide + self.heads * (q**2 * p + 2 * q * wide * p),
        )

    @property
    def moved(self) -> Count:
        """How many numbers of a token go into the recurrence and come out: x, B, C, steps, y."""
        return self._mixed + self.heads + self._inner

    @property
    def recent(self) -> Count:
        """What is convolved of the last tokens; one less of each would do."""
        return self._mixed * self.taps

    def before(self, n: Count) -> Cost:
        """Return the one projection to gate, x, B, C and time steps, and the convolution."""
        projected = Cost.product(n, self.d_model, self._projected).named("input projection")
        return projected + convolved(n, self._mixed, self.taps)

    def after(self, n: Count) -> Cost:
        """Return the projection of the output."""
        return Cost.product(n, self._inner, self.d_model).named("output projection")

    def kept(self, n: Count, *, keeps_weights: bool) -> Count:
        """Keep what convolution, recurrence, gated norm and output read; chunks are done again."""
        return n * (self._projected + self._mixed + 2 * self._inner)

    def live(self, n: Count, *, keeps_weights: bool) -> Count:
        """Hold what is projected and convolved, the states before each chunk, and the output."""
        tokens = self._projected + self._mixed + self._inner
        return n * tokens + self.recurrence.between_chunks(n)

    @property
    def _inner(self) -> Count:
        return self.heads * self.head_dim

    @property
    def _mixed(self) -> Count:
        return self._inner + 2 * self.groups * self.state_dim

    @property
    def _projected(self) -> Count:
        return self._inner + self._mixed + self.heads
