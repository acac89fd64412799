"""Longformer attention: a window for every token, and a few first tokens that read and are read.

    pairs(n, n) = g (2 n - g) + the window's pairs among the other n - g,  g = min(tokens, n)
    time  O(n (w + g) d)

Use it when documents are long and a few tokens, such as a class token or a question, must gather
from all of the text or tell all of it. Not for text that is generated token by token: the first
tokens read the future, also if the window does not; `Longformer(...) & Causal()` stops them. The
first tokens share their projections with all others, where the paper gives them a second set.
"""

from dataclasses import dataclass
from typing import ClassVar, final

from jaxtyping import Bool, Int
from torch import Tensor

from attncost.core.counts import Count, below, larger
from attncost.core.errors import ShapeError
from attncost.patterns.interface import Part, Pattern, Span, Tile, band, cut


@final
@dataclass(frozen=True, slots=True)
class Longformer(Pattern):
    """A window and a few global tokens.

    Attributes:
        width: Keys that a query reads near itself, itself included.
        tokens: How many tokens, from the first, read every key and are read by every query.
        ahead: How many of the `width` keys come after the query; half of them if left out.
    """

    source: ClassVar[str] = "Beltagy et al. 2020, arXiv:2004.05150"

    width: int = 513
    tokens: int = 16
    ahead: Count = None

    def __post_init__(self) -> None:
        if self.ahead is None:
            object.__setattr__(self, "ahead", self.width // 2)
        if self.width < 1:
            raise ShapeError(
                f"width must be at least 1 (a query may always read itself), got {self.width}."
            )
        if self.tokens < 0:
            raise ShapeError(f"tokens must be at least 0, got {self.tokens}.")
        if not 0 <= self.ahead < self.width:
            raise ShapeError(
                f"ahead must lie between 0 and width - 1 = {self.width - 1}, got {self.ahead}."
            )

    @classmethod
    def from_hugging_face(cls, attention_window: int, global_tokens: int) -> "Longformer":
        """Return the pattern of a layer of Hugging Face's Longformer.

        Args:
            attention_window: As in its configuration: half of it before a token, half after.
            global_tokens: How many first tokens its `global_attention_mask` marks.

        Raises:
            ShapeError: If the window has no halves; Hugging Face refuses it too.
        """
        if attention_window < 2 or attention_window % 2:
            raise ShapeError(
                f"attention_window must be even and at least 2, got {attention_window}."
            )
        return cls(attention_window + 1, global_tokens)

    @classmethod
    def examples(cls) -> tuple["Longformer", ...]:
        """Return usual, causal and forward windows, and from no to more tokens than there are."""
        return (
            cls(),
            cls(33, 5),
            cls(16, 20, ahead=0),
            cls(3, 0),
            cls(5, 100, ahead=4),
            cls(9, 1000),
        )

    @property
    def relative(self) -> bool:
        """Look where a token stands, unless none is global."""
        return self.tokens == 0

    def allowed(self, query: Int[Tensor, "*#s"], key: Int[Tensor, "*#s"]) -> Bool[Tensor, "*#s"]:
        """Let a query read the window around itself, and all if one of the two is global."""
        near = (key <= query + self.ahead) & (key > query + self.ahead - self.width)
        # Before the first key there is no token.
        return near | ((key >= 0) & (key < self.tokens)) | ((query >= 0) & (query < self.tokens))

    def pairs(self, n: Count, m: Count) -> Count:
        """Return all keys for global queries; for others, global keys and the window's rest."""
        keys = larger(0, m - self.tokens)
        local = keys - larger(0, m - self.tokens - n)
        early = larger(0, n - m)
        hub = n - local - early
        near = self._near(local, keys) + self._near(n, keys) - self._near(n - early, keys)
        return hub * m + (n - hub) * (m - keys) + near

    def _near(self, queries: Count, keys: Count) -> Count:
        end = self.ahead + 1
        return below(queries, keys, end) - below(queries, keys, end - self.width)

    def parts(self, n: int, m: int, block: int) -> tuple[Part, ...]:
        """Return one part: tiles that read all, and tiles of the first keys and a band."""
        first = min(self.tokens, m)
        start, local = m - n, min(n, m - first)
        tiles = []
        for queries in cut(range(start, min(0, m)), block):
            near = range(max(0, min(m, queries[-1] + self.ahead + 1)))
            tiles.append(Tile(queries, _beside(first, (Span(near, False),))))
        hub = range(max(0, start), m - local)
        tiles += [Tile(queries, (Span(range(m), True),)) for queries in cut(hub, block)]
        edges = {"before": self.width - 1 - self.ahead, "ahead": self.ahead}
        for queries, spans in band(local, m, block, **edges):
            tiles.append(Tile(queries, _beside(first, spans)))
        return (Part(tuple(tile for tile in tiles if tile.spans), self.allowed, self.relative),)


def _beside(first: int, spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """Return the first keys as a full span, and of the other spans what lies after it."""
    rest = [
        Span(range(max(first, keys.start), keys.stop), full)
        for keys, full in spans
        if keys.stop > first
    ]
    if not first:
        return tuple(rest)
    if rest and rest[0].full and rest[0].keys.start == first:
        return (Span(range(rest[0].keys.stop), True), *rest[1:])
    return (Span(range(first), True), *rest)
