"""The sizes of a model, and so its cost at any length, before anything runs.

    FLOPs = layers * (linear + core) + head        numbers kept = those of every layer that caches

A model is a stack of layers, not always alike: windows alternate with full attention, experts with
one feed-forward, states with caches. Everything here is a sum over them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias, final

from attncost.core.cost import Cost
from attncost.core.counts import Count
from attncost.core.dims import Dims
from attncost.core.errors import ShapeError
from attncost.core.notebook import as_html
from attncost.cost.block import BlockSizes
from attncost.cost.crossover import crossover
from attncost.cost.model.dense import Dense
from attncost.cost.model.ends import Embedding, Head
from attncost.cost.model.grouped import Grouped
from attncost.cost.model.layer import Layer, Layers
from attncost.cost.model.mixer import Mixer
from attncost.mechanisms.interface import Priced
from attncost.patterns.interface import Pattern

Work: TypeAlias = Literal["prefill", "decode", "training"]

_NO_TABLES: Final = Embedding()


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Configuration:
    """A model by its sizes; all formulas are of one sequence.

    Attributes:
        name: What people call it.
        d_model: Features of a token between layers.
        stack: Its layers by kind, the kinds in order of their first layer.
        embedding: What becomes the features of a token.
        head: What follows the last layer, if anything does.
        norms: Numbers that norms outside of the layers learn.
        longest: Tokens that its positions allow; None for any number.
        source: Where the sizes come from.
        notes: What the formulas leave out, in words.
    """

    _repr_html_ = as_html

    name: str
    d_model: Count
    stack: tuple[Layers, ...]
    embedding: Embedding = _NO_TABLES
    head: Head | None = None
    norms: Count = 0
    longest: int | None = None
    source: str = ""
    notes: tuple[str, ...] = field(default=())

    @classmethod
    def alike(
        cls, name: str, block: BlockSizes, attention: Pattern, *, layers: Count = 1, norm: int = 0
    ) -> "Configuration":
        """Return a model of equal blocks without biases and ends.

        Args:
            name: What to call it.
            block: The sizes of a block.
            attention: The pattern in all of them.
            layers: How many there are.
            norm: Numbers that a norm learns for a feature, of two norms a block and one at the end.
        """
        layer = Layer(
            d_model=block.d_model,
            mixers=(block.mixer(attention),),
            feed=block.feed(),
            norms=2,
            norm_numbers=norm,
        )
        stack = (Layers(layer, layers),)
        return cls(name=name, d_model=block.d_model, stack=stack, norms=norm * block.d_model)

    @property
    def layers(self) -> Count:
        """How many layers there are."""
        return sum(some.times for some in self.stack)

    @property
    def parameters(self) -> Count:
        """How many numbers it learns; those of a tied head once."""
        return self._ends + self._over(lambda layer: layer.learned)

    @property
    def active(self) -> Count:
        """How many of them one token uses: all but the experts that it does not visit."""
        return self._ends + self._over(lambda layer: layer.used)

    @property
    def multiplied(self) -> Count:
        """How many of these are no table that is only looked up; a tied one is multiplied, too."""
        tied = self.head is not None and self.head.tied
        looked_up = self.tables - (self.embedding.vocabulary * self.d_model if tied else 0)
        return self.active - looked_up

    @property
    def decoded(self) -> Count:
        """How many of these one token more reads: not those of an encoder beside it."""
        return self.multiplied - self._over(lambda layer: layer.used - layer.decoded)

    @property
    def tables(self) -> Count:
        """How many numbers its tables of tokens, positions and token types hold."""
        return self.embedding.tables(self.d_model)

    @property
    def matrices(self) -> Count:
        """How many multiply-adds one token takes in all layers, outside of attention."""
        return self._over(lambda layer: layer.matrices)

    @property
    def softmax_heads(self) -> Count:
        """How many heads of all layers weigh every pair by a softmax."""
        return sum(mixer.softmax_heads * times for mixer, times in self.mixers())

    @property
    def state(self) -> Count:
        """How many numbers are kept of a sequence of any length."""
        return sum(mixer.state * times for mixer, times in self.mixers())

    @property
    def recent(self) -> Count:
        """How many of them are of the last tokens, which are kept as a cache is, not in float32."""
        return sum(mixer.recent * times for mixer, times in self.mixers())

    @property
    def caches(self) -> bool:
        """Whether it keeps something of past tokens: what reads ahead cannot write on."""
        return bool(self.cached(1) or self.state)

    @property
    def patterns(self) -> dict[Pattern, Count]:
        """Which pairs softmax attention reads of its own sequence, and in how many layers."""
        found: dict[Pattern, Count] = {}
        for pattern, _, times in self.calls(1):
            found[pattern] = found.get(pattern, 0) + times
        return found

    @property
    def attention(self) -> Pattern | None:
        """The one pattern of all layers; None if they differ, or have none."""
        found = list(self.patterns)
        return found[0] if len(found) == 1 else None

    @property
    def block(self) -> BlockSizes:
        """The sizes of its commonest layer with attention.

        Raises:
            ShapeError: If no layer has softmax attention over heads.
        """
        having = [
            (times, mixer, some.layer.feed)
            for some in self.stack
            for times, mixer in ((some.times, mixer) for mixer in some.layer.mixers)
            if isinstance(mixer, Grouped)
        ]
        if not having:
            raise ShapeError(f"{self.name} has no layer of plain heads: ask for its calls.")
        _, mixer, feed = max(having, key=lambda one: one[0])
        dense = feed if isinstance(feed, Dense) else None
        return BlockSizes(
            d_model=mixer.d_model,
            heads=mixer.heads,
            kv_heads=mixer.kv_heads,
            head_dim=mixer.head_dim,
            hidden=dense.hidden if dense else None,
            gated=bool(dense and dense.gated),
            fused_qkv=mixer.fused,
        )

    def calls(self, n: Count) -> Iterator[tuple[Pattern, Dims, Count]]:
        """Give every kind of softmax attention on `n` tokens, and in how many layers it is."""
        for mixer, times in self.mixers():
            call = mixer.call(n)
            if call is not None:
                yield *call, times

    def mixers(self) -> Iterator[tuple[Mixer, Count]]:
        """Give everything that mixes tokens, and in how many layers it does."""
        for some in self.stack:
            for mixer in some.layer.mixers:
                yield mixer, some.times

    def core(self, length: Count, attention: Pattern | Priced | None = None) -> Cost:
        """Return what attention costs between the projections, in all layers."""
        return self._summed(lambda layer: layer.core(length, attention))

    def linear(self, length: Count) -> Cost:
        """Return all the rest."""
        inside = self._summed(lambda layer: layer.linear(length))
        return (self._first(length) + inside + self._last(length)).merged()

    def cost(self, length: Count, attention: Pattern | Priced | None = None) -> Cost:
        """Return the cost of the whole, with its own attention or with another."""
        inside = self.inside(length, attention)
        return (self._first(length) + inside + self._last(length)).merged()

    def inside(self, length: Count, attention: Pattern | Priced | None = None) -> Cost:
        """Return the cost of all layers alone."""
        return self._summed(lambda layer: layer.cost(length, attention))

    def prompt(self, length: Count) -> Cost:
        """Return the cost of reading a prompt: only the last token needs logits to write on."""
        last = self._last(1 if self.caches else length)
        return (self._first(length) + self.inside(length) + last).merged()

    def decode(self, context: Count) -> Cost:
        """Return the cost of one token that reads `context` tokens, itself included."""
        inside = self._summed(lambda layer: sum(layer.decode(context), Cost()))
        return (inside + self._last(1)).merged()

    def decode_core(self, context: Count) -> Cost:
        """Return what of it attention costs between the projections."""
        return self._summed(lambda layer: layer.decode(context)[1])

    def flops(self, length: Count, work: Work = "prefill") -> Count:
        """Return the useful FLOPs of one sequence.

        Args:
            length: Tokens; in `decode` those that the next token reads, itself included.
            work: `prefill` reads all tokens, `decode` writes one, `training` reads all and takes
                two more passes of the same size back.
        """
        if work == "decode":
            return self.decode(length).useful
        return self.cost(length).useful * (3 if work == "training" else 1)

    def cached(self, length: Count, *, page: int = 1) -> Count:
        """Return how many numbers are kept of a sequence, to write its next token.

        Args:
            length: Tokens.
            page: Tokens that an engine reserves at a time, such as 16; every layer rounds up.
        """
        return sum(mixer.reserved(length, page=page) * times for mixer, times in self.mixers())

    def kv_bytes_per_token(self, itemsize: int = 2) -> Count:
        """Return the bytes that a cache keeps of each token, until windows are full.

        Args:
            itemsize: Bytes of one number; 2 for 16 bit.
        """
        return self.cached(1) * itemsize

    def state_bytes(self, itemsize: int = 2) -> Count:
        """Return the bytes that states keep of a sequence, in float32 but for its last tokens.

        Args:
            itemsize: Bytes of one number of these; 2 for 16 bit.
        """
        return 4 * (self.state - self.recent) + itemsize * self.recent

    def reading(self, pattern: Pattern) -> "Configuration":
        """Return the same model with one pattern in every layer of softmax attention.

        Raises:
            ShapeError: If no layer can have another pattern.
        """
        found = tuple(some.reading(pattern) for some in self.stack)
        if found == self.stack and self.attention != pattern:
            raise ShapeError(
                f"{self.name} has no layer of plain heads that could read {pattern}: plan it with "
                "its own attention."
            )
        return replace(self, stack=found)

    def attention_takes_over(self, *, limit: int) -> int | None:
        """Return the length from which attention costs at least what all the rest does."""
        return crossover(
            lambda n: self.linear(n).useful, lambda n: self.core(n).useful + 1, limit=limit
        )

    @property
    def _ends(self) -> Count:
        head = self.head.learned(self.d_model) if self.head else 0
        return self.embedding.learned(self.d_model) + self.norms + head

    def _over(self, of: Callable[[Layer], Count]) -> Count:
        return sum(of(some.layer) * some.times for some in self.stack)

    def _summed(self, of: Callable[[Layer], Cost]) -> Cost:
        return sum((of(some.layer) * some.times for some in self.stack), Cost()).merged()

    def _first(self, length: Count) -> Cost:
        return self.embedding.cost(length, self.d_model)

    def _last(self, length: Count) -> Cost:
        return self.head.cost(length, self.d_model) if self.head else Cost()
