"""What every token passes through by itself: the feed-forward of a layer."""

from abc import ABC, abstractmethod

from attncost.core.cost import Cost
from attncost.core.counts import Count


class Feed(ABC):
    """One kind of feed-forward: frozen sizes, and formulas of the number of tokens."""

    __slots__ = ()

    @property
    @abstractmethod
    def learned(self) -> Count:
        """How many numbers it learns."""

    @abstractmethod
    def cost(self, n: Count) -> Cost:
        """Return what `n` tokens cost."""

    @abstractmethod
    def kept(self, n: Count) -> Count:
        """Return how many numbers are kept for a backward pass, its input left out."""

    @abstractmethod
    def live(self, n: Count) -> Count:
        """Return how many numbers are alive at once while it runs forward, its input left out."""

    @property
    def used(self) -> Count:
        """How many of the numbers that it learns one token uses."""
        return self.learned

    @property
    def matrices(self) -> Count:
        """How many multiply-adds one token takes."""
        return self.cost(1).useful // 2
