"""Dilated sliding window: a query reads `width` keys, one in `dilation`, itself included.

    pairs(n, n) = n w - dilation w (w - 1) / 2,  w = width, once n > dilation (w - 1), if ahead = 0
    time  O(n w d)

Use it when a layer should look `dilation` times as far as a window at the same cost, above layers
with dense windows.
Not when every layer or head has the same dilation: tokens whose distance is no multiple of it
never meet.
It skips the nearest neighbours, which matter most in text, so it seldom stands alone.
"""

from dataclasses import dataclass
from typing import ClassVar, final

from jaxtyping import Bool, Int
from torch import Tensor

from attncost.core.counts import Count, descending
from attncost.core.errors import ShapeError
from attncost.patterns.interface import Part, Pattern, Span, Tile, band


@final
@dataclass(frozen=True, slots=True)
class Dilated(Pattern):
    """A sliding window with gaps, causal unless it looks ahead.

    Attributes:
        width: Keys that a query reads, itself included; 1 reads only itself.
        dilation: Distance from one of them to the next; 1 is a window without gaps.
        ahead: How many of them come after the query.
    """

    source: ClassVar[str] = "Beltagy et al. 2020, arXiv:2004.05150"

    width: int = 256
    dilation: int = 2
    ahead: int = 0

    def __post_init__(self) -> None:
        if self.width < 1:
            raise ShapeError(
                f"width must be at least 1 (a query may always read itself), got {self.width}."
            )
        if self.dilation < 1:
            raise ShapeError(
                f"dilation must be at least 1 (a window without gaps), got {self.dilation}."
            )
        if not 0 <= self.ahead < self.width:
            raise ShapeError(
                f"ahead must lie between 0 and width - 1 = {self.width - 1}, got {self.ahead}."
            )

    @classmethod
    def examples(cls) -> tuple["Dilated", ...]:
        """Return short and long reach, no gaps, gaps longer than the sequence, both directions."""
        return cls(4, 3), cls(1, 5), cls(5, 1, ahead=2), cls(3, 1000, ahead=2), cls(9, 2, ahead=4)

    @property
    def relative(self) -> bool:
        """Ask for the distance alone."""
        return True

    def allowed(self, query: Int[Tensor, "*#s"], key: Int[Tensor, "*#s"]) -> Bool[Tensor, "*#s"]:
        """Let a query read multiples of `dilation` from `width - 1 - ahead` before to `ahead`."""
        past = query - key
        near = (past >= -self.ahead * self.dilation) & (past <= self._before * self.dilation)
        return near & (past % self.dilation == 0)

    def pairs(self, n: Count, m: Count) -> Count:
        """Return the sum over all distances: the longer one is, the fewer queries have it."""
        step = self.dilation
        behind = descending(m, step, self._before + 1) - descending(m - n, step, self._before + 1)
        ahead = descending(n - step, step, self.ahead) - descending(n - m - step, step, self.ahead)
        return behind + ahead

    def parts(self, n: int, m: int, block: int) -> tuple[Part, ...]:
        """Return a band for each residue of positions, among which the window has no gaps."""
        tiles: list[Tile] = []
        for first in range(m - n, min(m, m - n + self.dilation)):
            queries = range(first, m, self.dilation)
            keys = range(first % self.dilation, m, self.dilation)
            # Positions within the band count keys of this residue, and the last of both is one.
            shift = len(queries) - len(keys)
            for at, spans in band(
                len(queries), len(keys), block, before=self._before, ahead=self.ahead
            ):
                held = tuple(Span(keys[span.start : span.stop], full) for span, full in spans)
                if held:
                    tiles.append(Tile(queries[at.start + shift : at.stop + shift], held))
        return (Part(tuple(tiles), self.allowed, True),)

    @property
    def _before(self) -> Count:
        return self.width - 1 - self.ahead
