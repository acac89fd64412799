"""A layer: what mixes tokens, what each passes through, and the norms around them."""

from dataclasses import dataclass, replace
from typing import Final, final

from attncost.core.cost import Cost
from attncost.core.counts import Count, larger
from attncost.cost.model.feed import Feed
from attncost.cost.model.mixer import Mixer
from attncost.mechanisms.interface import Priced
from attncost.patterns.interface import Pattern

_SHIFTS: Final = 2  # a scale and a shift


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Layer:
    """One layer of a model.

    Attributes:
        d_model: Features of a token between layers.
        mixers: What mixes tokens, one after the other; a decoder that reads another sequence has
            two.
        feed: What each token passes through; None for nothing.
        norms: How many norms there are, inside the residual or around it.
        norm_numbers: Numbers that a norm learns for a feature: 2 scale and shift it, 1 scales it.
        centred: Whether a norm takes the mean away; if left out, one that shifts does.
        others: Numbers that it learns besides.
        encodes: Whether it belongs to an encoder, which has run before a decoder writes.
    """

    d_model: Count
    mixers: tuple[Mixer, ...]
    feed: Feed | None = None
    norms: Count = 0
    norm_numbers: Count = 1
    centred: bool | None = None
    others: Count = 0
    encodes: bool = False

    @property
    def learned(self) -> Count:
        """How many numbers it learns."""
        return self._beside + (self.feed.learned if self.feed else 0)

    @property
    def used(self) -> Count:
        """How many of them one token uses."""
        return self._beside + (self.feed.used if self.feed else 0)

    @property
    def decoded(self) -> Count:
        """How many of them one token more uses."""
        if self.encodes:
            return 0
        return self.used - sum(mixer.learned - mixer.decoded for mixer in self.mixers)

    @property
    def matrices(self) -> Count:
        """How many multiply-adds one token takes outside of attention."""
        mixing = sum(mixer.matrices for mixer in self.mixers)
        return mixing + (self.feed.matrices if self.feed else 0)

    def core(self, n: Count, attention: Pattern | Priced | None = None) -> Cost:
        """Return what it costs that tokens meet."""
        return sum((mixer.core(n, n, attention) for mixer in self.mixers), Cost())

    def linear(self, n: Count) -> Cost:
        """Return all the rest."""
        return sum((mixer.linear(n) for mixer in self.mixers), Cost()) + self._fed(n)

    def cost(self, n: Count, attention: Pattern | Priced | None = None) -> Cost:
        """Return both, step by step."""
        return sum(
            (one.before(n) + one.core(n, n, attention) + one.after(n) for one in self.mixers),
            Cost(),
        ) + self._fed(n)

    def decode(self, m: Count) -> tuple[Cost, Cost]:
        """Return what one token costs when `m` are there with it: all the rest, and the core."""
        if self.encodes:
            return Cost(), Cost()
        both = [mixer.decode(m) for mixer in self.mixers]
        linear = sum((one for one, _ in both), Cost()) + self._fed(1)
        return linear, sum((core for _, core in both), Cost())

    def between(self, n: Count) -> Count:
        """Return how many numbers a backward pass needs of norms: what they read and write."""
        return 2 * self.norms * n * self.d_model

    def upcast(self, n: Count) -> Count:
        """Return how many more it needs of them in float32, whatever the precision.

        A norm that takes the mean away is one operation, which keeps a mean and a deviation. One
        that only scales is written out in most models, and keeps in float32 what it read.
        """
        centred = self.norm_numbers == _SHIFTS if self.centred is None else self.centred
        return self.norms * n * (2 if centred else self.d_model)

    def inside(self, n: Count, *, keeps_weights: bool) -> Count:
        """Return how many it needs from inside of attention and feed-forward."""
        mixing = sum(mixer.kept(n, keeps_weights=keeps_weights) for mixer in self.mixers)
        return mixing + (self.feed.kept(n) if self.feed else 0)

    def live(self, n: Count, *, keeps_weights: bool) -> Count:
        """Return how many numbers are alive at once inside of it while it runs forward."""
        most: Count = 0
        for mixer in self.mixers:
            most = larger(most, mixer.live(n, keeps_weights=keeps_weights))
        if self.feed:
            most = larger(most, self.feed.live(n))
        return most

    @property
    def _beside(self) -> Count:
        mixing = sum(mixer.learned for mixer in self.mixers)
        return mixing + self.norms * self.norm_numbers * self.d_model + self.others

    def _fed(self, n: Count) -> Cost:
        return self.feed.cost(n) if self.feed else Cost()


@final
@dataclass(frozen=True, slots=True)
class Layers:
    """Layers of one kind, and how many there are."""

    layer: Layer
    times: Count

    def reading(self, pattern: Pattern) -> "Layers":
        """Return the same with another pattern, as far as they can have one."""
        mixers = tuple(mixer.reading(pattern) for mixer in self.layer.mixers)
        return replace(self, layer=replace(self.layer, mixers=mixers))
