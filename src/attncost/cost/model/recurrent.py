"""Recurrences: each head reads and changes a matrix of a fixed size, one token after the other.

    2 t h d e FLOPs a token, for t products of a vector with a state of h matrices (d, e)

`useful`, and so `dense`, is the recurrence itself, which is also how one token more is written. A
prompt is read in chunks, which multiplies more and keeps a device busy: that is `executed`, the
padding of the last chunk included. Longer chunks execute more. Gates and norms are left out.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Final, final

from attncost.core.cost import Cost
from attncost.core.counts import Count, ceil_div
from attncost.cost.model.mixer import Mixer
from attncost.mechanisms.interface import Priced
from attncost.patterns.interface import Pattern

_FLOAT32: Final = 4


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Recurrence:
    """What a state costs.

    Attributes:
        heads: Matrices, `h`.
        rows: Rows of each, `d`.
        columns: Columns of each, `e`.
        products: How often a token multiplies each, `t`; to write an outer product is one time.
        chunk: Tokens that are read at once.
        in_chunk: Multiply-adds of one chunk in all heads.
    """

    heads: Count
    rows: Count
    columns: Count
    products: int
    chunk: Count
    in_chunk: Count

    @property
    def size(self) -> Count:
        """How many numbers the state has, which no length changes."""
        return self.heads * self.rows * self.columns

    def cost(self, n: Count, *, moved: Count) -> Cost:
        """Return what `n` tokens cost, read in chunks.

        Args:
            n: Tokens.
            moved: Numbers that they bring and take.
        """
        executed = 2 * ceil_div(n, self.chunk) * self.in_chunk
        return self._cost(n, executed, moved).named("recurrence")

    def step(self, *, moved: Count) -> Cost:
        """Return what one token more costs.

        Args:
            moved: Numbers that it brings and takes.
        """
        return self._cost(1, self._flops(1), moved).named("recurrence")

    def between_chunks(self, n: Count) -> Count:
        """Return how many numbers the states before each chunk have."""
        return ceil_div(n, self.chunk) * self.size

    def _flops(self, n: Count) -> Count:
        return 2 * n * self.products * self.size

    def _cost(self, n: Count, executed: Count, moved: Count) -> Cost:
        """Return the recurrence of `n` tokens: decay is elementwise, the state goes in and out."""
        useful = self._flops(n)
        return Cost(
            useful=useful,
            executed=executed,
            dense=useful,
            elementwise=n * self.size,
            bytes=_FLOAT32 * (moved + 2 * self.size),
        )


class Recurrent(Mixer):
    """A mixer with a state in place of a cache."""

    __slots__ = ()

    @property
    @abstractmethod
    def recurrence(self) -> Recurrence:
        """What its state costs."""

    @property
    @abstractmethod
    def moved(self) -> Count:
        """How many numbers of a token go into the recurrence and come out."""

    @final
    @property
    def state(self) -> Count:
        """The matrices of all heads, and what a convolution reads again."""
        return self.recurrence.size + self.recent

    @final
    @property
    def split(self) -> tuple[Count, Count]:
        """The heads of the state, twice."""
        return self.recurrence.heads, self.recurrence.heads

    @final
    def core(self, n: Count, m: Count, attention: Pattern | Priced | None = None) -> Cost:
        """Return the recurrence of `n` tokens; nothing takes its place, and the past is free."""
        return self.recurrence.cost(n, moved=n * self.moved)

    @final
    def decode(self, m: Count) -> tuple[Cost, Cost]:
        """Return one token's share, by the recurrence itself."""
        return self.linear(1), self.recurrence.step(moved=self.moved)

    @final
    def cached(self, n: Count) -> Count:
        """Keep nothing of a token."""
        return 0


def convolved(n: Count, channels: Count, taps: Count) -> Cost:
    """Return what a short convolution costs: every channel alone, over the last `taps` tokens."""
    return Cost.product(n, channels, taps).named("short convolution")
