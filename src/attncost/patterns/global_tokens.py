"""Global tokens: the first few tokens read everything and are read by everything.

    pairs(n, n) = 2 n t - t²,  t = min(tokens, n)          time  O(n t d)

Use it when every token must reach every other in two layers at linear cost, or for a token that
sums up the sequence: `Window(width=513, ahead=256) | GlobalTokens(tokens=1)`.
Not for generating text: a global token reads the future, so give it `& Causal()`.
Alone it lets the other tokens read nothing but the global ones, not even themselves.
"""

from dataclasses import dataclass
from typing import ClassVar, final

from jaxtyping import Bool, Int
from torch import Tensor

from attncost.core.counts import Count, larger, smaller
from attncost.core.errors import ShapeError
from attncost.patterns.interface import Part, Pattern, Span, Tile, cut


@final
@dataclass(frozen=True, slots=True)
class GlobalTokens(Pattern):
    """The first tokens as a hub for all others; meant to be joined with a window by `|`.

    Attributes:
        tokens: How many there are.
    """

    source: ClassVar[str] = "Beltagy et al. 2020, arXiv:2004.05150"

    tokens: int = 16

    def __post_init__(self) -> None:
        if self.tokens < 1:
            raise ShapeError(f"tokens must be at least 1, got {self.tokens}.")

    @classmethod
    def examples(cls) -> tuple["GlobalTokens", ...]:
        """Return one token, some, and more than there are."""
        return cls(1), cls(16), cls(100), cls(1000)

    @property
    def relative(self) -> bool:
        """Depend on where the sequence begins."""
        return False

    def allowed(self, query: Int[Tensor, "*#s"], key: Int[Tensor, "*#s"]) -> Bool[Tensor, "*#s"]:
        """Let a query read if it or the key is global; before the first key there is no token."""
        return (key < self.tokens) | ((query >= 0) & (query < self.tokens))

    def pairs(self, n: Count, m: Count) -> Count:
        """Return the columns of the global keys, and what is left of the global queries' rows."""
        keys = smaller(self.tokens, m)
        queries = larger(0, keys - larger(0, m - n))
        return n * keys + queries * (m - keys)

    def parts(self, n: int, m: int, block: int) -> tuple[Part, ...]:
        """Return long rows for the global queries, and the same few keys for all others."""
        start, keys = m - n, range(min(self.tokens, m))
        hub = range(max(start, 0), keys.stop), range(m)
        others = [(range(start, 0), keys), (range(max(start, keys.stop), m), keys)]
        tiles = tuple(
            Tile(queries, (Span(read, True),))
            for positions, read in (hub, *others)
            if read
            for queries in cut(positions, block)
        )
        return (Part(tiles, self.allowed, False),)
