"""What mixes the tokens of a sequence in a layer: attention, or what stands in its place."""

from abc import ABC, abstractmethod
from typing import final

from attncost.core.cost import Cost
from attncost.core.counts import Count, ceil_div
from attncost.core.dims import Dims
from attncost.mechanisms.interface import Priced
from attncost.patterns.interface import Pattern


class Mixer(ABC):
    """One way to mix tokens: frozen sizes, and formulas of the length of one sequence."""

    __slots__ = ()

    @property
    @abstractmethod
    def learned(self) -> Count:
        """How many numbers it learns."""

    @abstractmethod
    def before(self, n: Count) -> Cost:
        """Return the products of tokens with weights that come before tokens meet."""

    @abstractmethod
    def after(self, n: Count) -> Cost:
        """Return those that come after."""

    @abstractmethod
    def core(self, n: Count, m: Count, attention: Pattern | Priced | None = None) -> Cost:
        """Return what it costs that tokens meet.

        Args:
            n: Tokens that ask, the last of the sequence.
            m: Tokens that there are.
            attention: Takes the place of softmax attention, if it is that.
        """

    @abstractmethod
    def cached(self, n: Count) -> Count:
        """Return how many numbers must be kept of `n` tokens to write the next one."""

    @abstractmethod
    def kept(self, n: Count, *, keeps_weights: bool) -> Count:
        """Return how many numbers are kept for a backward pass, its input left out.

        Args:
            n: Tokens.
            keeps_weights: Whether attention keeps its weights, as without a fused kernel.
        """

    @abstractmethod
    def live(self, n: Count, *, keeps_weights: bool) -> Count:
        """Return how many numbers are alive at once while it runs forward, its input left out."""

    @property
    def split(self) -> tuple[Count, Count]:
        """The heads that tensor parallel shares, and those of keys, which may be fewer."""
        return self.softmax_heads, 1

    def reading(self, _: Pattern) -> "Mixer":
        """Return the same with another pattern, or as it is if it can have no other."""
        return self

    def call(self, n: Count) -> tuple[Pattern, Dims] | None:
        """Return its softmax attention on `n` tokens, if another can take its place; else None."""
        return None

    @property
    def matrices(self) -> Count:
        """How many multiply-adds one token takes before and after tokens meet."""
        return self.linear(1).useful // 2

    @property
    def decoded(self) -> Count:
        """How many of the numbers that it learns one token more needs."""
        return self.learned

    def read(self, m: Count) -> Count:
        """Return how many of the numbers kept of `m` tokens the next one reads."""
        return self.cached(m)

    @final
    def reserved(self, n: Count, *, page: Count) -> Count:
        """Return how many numbers are set apart for `n` tokens, if it is done `page` at a time."""
        one = self.cached(1) * page
        return self.cached(n) if page == 1 or not one else ceil_div(self.cached(n), one) * one

    @property
    def softmax_heads(self) -> Count:
        """How many heads weigh every pair by a softmax."""
        return 0

    @property
    def state(self) -> Count:
        """How many numbers are kept of a sequence of any length, most often in float32."""
        return 0

    @property
    def recent(self) -> Count:
        """How many of them are of the last tokens, which are kept as a cache is, not in float32."""
        return 0

    @final
    def linear(self, n: Count) -> Cost:
        """Return the products of tokens with weights."""
        return self.before(n) + self.after(n)

    def decode(self, m: Count) -> tuple[Cost, Cost]:
        """Return what one token costs when `m` are there with it: products with weights, the core.

        A mixer may compute one token in another way than many.
        """
        return self.linear(1), self.core(1, m)
