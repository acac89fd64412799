"""Multi-head latent attention: keys and values are made anew from a small vector of each token.

    kept of a token: r + d_r numbers, instead of h (d_n + d_r + d_v)

A prompt is read with the keys and values of every head, as if they were cached. One token more is
written without making them: the matrix that makes keys is absorbed into its queries, the one that
makes values into its output, and all heads read the same r + d_r numbers of each token. In
transformers a step costs more than here, for it makes all keys and values anew.
"""

from dataclasses import dataclass
from typing import Final, final

from attncost.core.cost import Cost
from attncost.core.counts import Count
from attncost.core.dims import Dims
from attncost.cost.model.mixer import Mixer
from attncost.kernels.interface import Work, priced
from attncost.mechanisms.interface import Priced
from attncost.patterns.causal import Causal
from attncost.patterns.interface import Pattern

_PAST: Final = Causal()


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Latent(Mixer):
    """Causal attention of DeepSeek-V2 (DeepSeek-AI 2024, arXiv:2405.04434, section 2.1).

    Attributes:
        d_model: Features of a token between layers.
        heads: Heads, `h`.
        rank: Features of the vector that keys and values are made of, `r`.
        query_rank: Features of the one that queries are made of; None if there is none.
        nope_dim: Features of a query and a key in each head, without positions, `d_n`.
        rope_dim: Features that carry positions; all heads share those of the key, `d_r`.
        value_dim: Features of a value in each head, `d_v`.
        biased: Whether the projections from and to the features between layers have a bias; the
            one straight to queries has none.
    """

    d_model: Count
    heads: Count
    rank: Count
    query_rank: Count | None = None
    nope_dim: Count
    rope_dim: Count
    value_dim: Count
    biased: bool = False

    @property
    def learned(self) -> Count:
        """The matrices, the norms between two of them, and biases."""
        d, r, asked = self.d_model, self.rank, self.query_rank
        if asked is None:
            queries, biases = d * self._queries, 0
        else:
            queries, biases = asked * (d + 1 + self._queries), asked
        keys = d * self._kept + r + r * self._expanded
        biases = biases + self._kept + d if self.biased else 0
        return queries + keys + self._values * d + biases

    @property
    def softmax_heads(self) -> Count:
        """All heads."""
        return self.heads

    def before(self, n: Count) -> Cost:
        """Return what makes queries, keys and values of every head."""
        expanded = Cost.product(n, self.rank, self._expanded).named("k and v projection")
        return self._compressed(n) + expanded

    def after(self, n: Count) -> Cost:
        """Return the projection of the output."""
        return Cost.product(n, self._values, self.d_model).named("output projection")

    def core(self, n: Count, m: Count, attention: Pattern | Priced | None = None) -> Cost:
        """Return scores, softmax and weighted sum of the keys and values of every head."""
        read, dims = attention or _PAST, self.dims(n, m)
        return read.cost(dims) if isinstance(read, Priced) else priced(read, dims)

    def call(self, n: Count) -> tuple[Pattern, Dims] | None:
        """Return the call with keys and values of every head."""
        return _PAST, self.dims(n)

    def decode(self, m: Count) -> tuple[Cost, Cost]:
        """Return one token's share with absorbed matrices, so that nothing is made of the past."""
        asked = Cost.product(self.heads, self.nope_dim, self.rank).named("q into the latent")
        value = Cost.product(self.heads, self.rank, self.value_dim).named("v from the latent")
        return self._compressed(1) + asked + value + self.after(1), self.absorbed(m)

    def absorbed(self, m: Count) -> Cost:
        """Return what it costs that one token's heads read `m` latent vectors, each moved once."""
        dims = Dims(
            heads=self.heads,
            kv_heads=1,
            length=1,
            kv_length=m,
            head_dim=self._kept,
            value_dim=self.rank,
            d_model=self.d_model,
        )
        numbers = self.heads * (self._kept + self.rank) + m * self._kept
        return priced(_PAST, dims, Work(m, self._kept, self.rank, numbers * dims.itemsize))

    def cached(self, n: Count) -> Count:
        """Keep the latent vector and the shared key with positions."""
        return self._kept * n

    def kept(self, n: Count, *, keeps_weights: bool) -> Count:
        """Keep queries, keys, values, output and what weighs; small vectors with their norms.

        Values keep the keys that the same product made, for both are one tensor.
        """
        attended = 2 * self._queries + self._expanded + self._values
        small = self._kept + self.rank + 2 * self._asked
        return n * (attended + small) + (self.heads * n**2 if keeps_weights else self.heads * n)

    def live(self, n: Count, *, keeps_weights: bool) -> Count:
        """Hold small vectors, queries, keys, values, their output and its projection.

        Without a fused kernel there are all scores and weights instead of these two.
        """
        projected = n * (self._kept + self._asked + 2 * self._queries + self._expanded)
        return projected + (
            2 * self.heads * n**2 if keeps_weights else n * (self._values + self.d_model)
        )

    def dims(self, n: Count, m: Count | None = None) -> Dims:
        """Return the sizes of the attention call on one sequence."""
        return Dims(
            heads=self.heads,
            length=n,
            kv_length=n if m is None else m,
            head_dim=self.nope_dim + self.rope_dim,
            value_dim=self.value_dim,
            d_model=self.d_model,
        )

    def _compressed(self, n: Count) -> Cost:
        """Return what makes queries, and the vector that is cached."""
        d, asked = self.d_model, self.query_rank
        if asked is None:
            queries = Cost.product(n, d, self._queries).named("q projection")
        else:
            down = Cost.product(n, d, asked).named("q compression")
            queries = down + Cost.product(n, asked, self._queries).named("q projection")
        return queries + Cost.product(n, d, self._kept).named("kv compression")

    @property
    def _queries(self) -> Count:
        return self.heads * (self.nope_dim + self.rope_dim)

    @property
    def _values(self) -> Count:
        return self.heads * self.value_dim

    @property
    def _expanded(self) -> Count:
        return self.heads * (self.nope_dim + self.value_dim)

    @property
    def _kept(self) -> Count:
        return self.rank + self.rope_dim

    @property
    def _asked(self) -> Count:
        return 0 if self.query_rank is None else self.query_rank
