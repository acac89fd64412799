"""Softmax attention with heads that may share keys and values, over any pattern of pairs.

n (2 h + 2 g) d_h d_model multiply-adds of projections + 2 h d_h for each pair that is read
"""

from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias, final

from attncost.core.cost import Cost
from attncost.core.counts import Count, smaller
from attncost.core.dims import Dims
from attncost.cost.model.mixer import Mixer
from attncost.kernels.interface import priced
from attncost.mechanisms.interface import Priced
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window

Projection: TypeAlias = Literal["q", "k", "v", "output"]
QKV: Final = frozenset[Projection](("q", "k", "v"))
ALL: Final = QKV | frozenset[Projection](("output",))


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Grouped(Mixer):
    """Multi-head, grouped-query or multi-query attention (Ainslie et al. 2023, arXiv:2305.13245).

    Attributes:
        d_model: Features of a token between layers.
        heads: Query heads, `h`.
        kv_heads: Heads of keys and values, `g`.
        head_dim: Features of one head; `h * head_dim` need not be `d_model`.
        pattern: Which pairs are read.
        biases: The projections with a bias.
        norm: Numbers that norms of queries and keys learn in all, such as `2 * head_dim`.
        gate: Whether queries come with a gate of their size for the output, as in Qwen3-Next.
        sinks: Whether each head learns one score more, as in gpt-oss.
        cross: Whether it reads another sequence, of the same length unless it is said.
        fused: Whether one matrix makes queries, keys and values; the FLOPs are the same.
    """

    d_model: Count
    heads: Count
    kv_heads: Count
    head_dim: Count
    pattern: Pattern = field(default_factory=Causal)
    biases: frozenset[Projection] = frozenset()
    norm: Count = 0
    gate: bool = False
    sinks: bool = False
    cross: bool = False
    fused: bool = False

    @property
    def learned(self) -> Count:
        """The matrices, biases, norms of heads and sinks."""
        d = self.d_model
        wide = {"q": self._asked, "k": self._keys, "v": self._keys, "output": d}
        biases = sum(size for name, size in wide.items() if name in self.biases)
        matrices = d * (self._asked + 2 * self._keys + self._queries)
        return matrices + biases + self.norm + (self.heads if self.sinks else 0)

    @property
    def decoded(self) -> Count:
        """All, but what made keys and values of another sequence."""
        return self.learned - (2 * self.d_model * self._keys if self.cross else 0)

    @property
    def softmax_heads(self) -> Count:
        """All query heads."""
        return self.heads

    def before(self, n: Count) -> Cost:
        """Return the projections to queries, keys and values."""
        d = self.d_model
        if self.fused:
            return Cost.product(n, d, self._asked + 2 * self._keys).named("qkv projection")
        return (
            Cost.product(n, d, self._asked).named("q projection")
            + Cost.product(n, d, self._keys).named("k projection")
            + Cost.product(n, d, self._keys).named("v projection")
        )

    def after(self, n: Count) -> Cost:
        """Return the projection of the output."""
        return Cost.product(n, self._queries, self.d_model).named("output projection")

    def core(self, n: Count, m: Count, attention: Pattern | Priced | None = None) -> Cost:
        """Return scores, softmax and weighted sum."""
        # What is put in the place of attention reads one sequence, not another.
        read = self.pattern if self.cross or attention is None else attention
        dims = self.dims(n, m)
        return read.cost(dims) if isinstance(read, Priced) else priced(read, dims)

    @property
    def split(self) -> tuple[Count, Count]:
        """Both kinds of heads."""
        return self.heads, self.kv_heads

    def reading(self, pattern: Pattern) -> Mixer:
        """Return the same with another pattern; what reads another sequence keeps its own."""
        return self if self.cross else replace(self, pattern=pattern)

    def call(self, n: Count) -> tuple[Pattern, Dims] | None:
        """Return its pattern and sizes; of another sequence it reads what it must."""
        return None if self.cross else (self.pattern, self.dims(n))

    def decode(self, m: Count) -> tuple[Cost, Cost]:
        """Return one token's share; of another sequence keys and values are there already."""
        linear = self.linear(1)
        if self.cross:
            linear = Cost.product(1, self.d_model, self._asked).named("q projection")
            linear = linear + self.after(1)
        return linear, self.core(1, m)

    def cached(self, n: Count) -> Count:
        """Keep keys and values, of a causal window no more than it reads; nothing to read ahead."""
        if isinstance(self.pattern, Full) and not self.cross:
            return 0
        tokens = n
        if isinstance(self.pattern, Window):
            if self.pattern.ahead:
                return 0
            tokens = smaller(n, self.pattern.width)
        return 2 * self._keys * tokens

    def kept(self, n: Count, *, keeps_weights: bool) -> Count:
        """Keep queries, keys, values, output and what weighs: a row's log-sum-exp, or all pairs."""
        weighed = self.heads * n**2 if keeps_weights else self.heads * n
        return n * (2 * self._queries + 2 * self._keys) + weighed

    def live(self, n: Count, *, keeps_weights: bool) -> Count:
        """Hold queries, keys, values, output and its projection, or all scores and weights."""
        projected = n * (self._asked + 2 * self._keys)
        fused = n * (self._queries + self.d_model)
        return projected + (2 * self.heads * n**2 if keeps_weights else fused)

    def dims(self, n: Count, m: Count | None = None) -> Dims:
        """Return the sizes of the attention call on one sequence."""
        return Dims(
            heads=self.heads,
            kv_heads=self.kv_heads,
            length=n,
            kv_length=n if m is None else m,
            head_dim=self.head_dim,
            d_model=self.d_model,
        )

    @property
    def _queries(self) -> Count:
        return self.heads * self.head_dim

    @property
    def _asked(self) -> Count:
        return self._queries * (2 if self.gate else 1)

    @property
    def _keys(self) -> Count:
        return self.kv_heads * self.head_dim
