"""DeepSeek sparse attention: a light indexer scores all pairs, attention reads the best few keys.

    core = (2 d_i + 2) h_i FLOPs for each pair + attention over min(i, top) keys for token i

The attention grows with n `top`, the indexer still with n², a few heads wide. How many pairs are
read is known before anything runs, which they are is not: no mask can be drawn of it.
"""

from dataclasses import dataclass
from typing import Final, final

from attncost.core.cost import Cost
from attncost.core.counts import Count, larger, smaller
from attncost.core.dims import Dims
from attncost.cost.model.latent import Latent
from attncost.cost.model.mixer import Mixer
from attncost.mechanisms.interface import Priced
from attncost.patterns.causal import Causal
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window

_PAST: Final = Causal()
_ITEMSIZE: Final = 4  # as in every cost of attention, float32


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Indexed(Mixer):
    """Latent attention over the keys that an indexer picks (DeepSeek-V3.2, arXiv:2512.02556).

    Attributes:
        latent: The attention, whose queries are made of a small vector.
        heads: Heads of the indexer, `h_i`.
        head_dim: Features of each; all share one key, `d_i`.
        top: Keys that a query reads at most.
    """

    latent: Latent
    heads: Count
    head_dim: Count
    top: int

    @property
    def learned(self) -> Count:
        """The attention, and the indexer's queries, key with its norm and weights of heads."""
        return self.latent.learned + self._indexed(1).useful // 2 + 2 * self.head_dim

    @property
    def softmax_heads(self) -> Count:
        """The heads of the attention; the indexer has no softmax."""
        return self.latent.softmax_heads

    def before(self, n: Count) -> Cost:
        """Return the projections of both."""
        return self.latent.before(n) + self._indexed(n)

    def after(self, n: Count) -> Cost:
        """Return the projection of the output."""
        return self.latent.after(n)

    def core(self, n: Count, m: Count, attention: Pattern | Priced | None = None) -> Cost:
        """Return the indexer's scores, and attention over as many pairs as a window has.

        Another attention takes the place of both.
        """
        if attention:
            return self.latent.core(n, m, attention)
        return self._scores(n, m) + self.latent.core(n, m, Window(self.top))

    def call(self, n: Count) -> tuple[Pattern, Dims] | None:
        """Return a window of as many pairs as it reads."""
        return Window(self.top), self.latent.dims(n)

    def decode(self, m: Count) -> tuple[Cost, Cost]:
        """Return one token's share: it scores all, and reads the best with absorbed matrices."""
        linear, _ = self.latent.decode(m)
        read = self.latent.absorbed(smaller(m, self.top))
        return linear + self._indexed(1), self._scores(1, m) + read

    def cached(self, n: Count) -> Count:
        """Keep the latent vectors, and the indexer's key."""
        return self.latent.cached(n) + self.head_dim * n

    def read(self, m: Count) -> Count:
        """Read every key of the indexer, and the latent vectors that it picks."""
        return self.latent.cached(smaller(m, self.top)) + self.head_dim * m

    def kept(self, n: Count, *, keeps_weights: bool) -> Count:
        """Keep what the attention keeps; the indexer learns by itself, and is left out."""
        return self.latent.kept(n, keeps_weights=keeps_weights)

    def live(self, n: Count, *, keeps_weights: bool) -> Count:
        """Hold what the attention or the indexer holds: of this the sum of heads for all pairs."""
        every = (self.heads if keeps_weights else 0) * n**2
        indexing = n * (self.heads * (self.head_dim + 1) + self.head_dim) + every + n**2
        return larger(self.latent.live(n, keeps_weights=keeps_weights), indexing)

    def _indexed(self, n: Count) -> Cost:
        d, asked = self.latent.d_model, self.latent.query_rank
        return (
            Cost.product(n, asked, self.heads * self.head_dim).named("index q projection")
            + Cost.product(n, d, self.head_dim).named("index k projection")
            + Cost.product(n, d, self.heads).named("index weights")
        )

    def _scores(self, n: Count, m: Count) -> Cost:
        """Return the product of queries and keys, and the weighted sum over heads."""
        pairs, features = _PAST.pairs(n, m), self.heads * (self.head_dim + 1)
        moved = n * features + m * self.head_dim + pairs
        return Cost(
            useful=2 * features * pairs,
            executed=2 * features * pairs,
            dense=2 * features * n * m,
            elementwise=self.heads * pairs,
            bytes=_ITEMSIZE * moved,
        ).named("index scores")
