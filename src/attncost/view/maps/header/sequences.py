"""The sequences that queries and keys come from: tokens, padding, documents, patches."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, final

import numpy as np
from jaxtyping import Bool
from torch import Tensor

from attncost.core.errors import ShapeError
from attncost.view.maps.arrays.blocks import Blocks
from attncost.view.maps.arrays.images import Pixels, pixels
from attncost.view.maps.header.hidden import Hidden
from attncost.view.seen import Seen

Tokens: TypeAlias = list[str] | tuple[list[str], list[str]]

# A vision model puts so few tokens before its patches: a class, a distillation, some registers.
_MOST_BEFORE: Final = 16


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Legend:
    """What the caller says of the sequences.

    Attributes:
        tokens: Those of the model's sequence, or of its source and its target.
        image: What a vision model saw, as rows, columns and colours.
        grid: Rows and columns of its patches.
    """

    tokens: Tokens | None = None
    image: Pixels | None = None
    grid: tuple[int, int] | None = None

    @classmethod
    def of(cls, tokens: object, image: object, grid: tuple[int, int] | None) -> "Legend":
        """Check what a caller gives.

        Raises:
            ShapeError: If it is no list of tokens, no image or no grid.
        """
        if grid is not None and not _is_grid(grid):
            raise ShapeError(f"grid must be rows and columns of patches, got {grid!r}.")
        shown = None if image is None else pixels(image)
        return cls(tokens=_tokens(tokens), image=shown, grid=grid)

    def named(
        self, length: int, *, source: bool = False, growing: bool = False
    ) -> list[str] | None:
        """Return the tokens of a sequence.

        Args:
            length: How many it has.
            source: Whether it is that of an encoder.
            growing: Whether it is the beginning of a text, as while one is generated.

        Raises:
            ShapeError: If no list has as many.
        """
        if self.tokens is None:
            return None
        lists = [self.tokens] if isinstance(self.tokens, list) else list(self.tokens)
        # With two of one length, the caller's order decides.
        for tokens in lists if source else lists[::-1]:
            if len(tokens) == length:
                return tokens
        longer = [tokens for tokens in lists if growing and len(tokens) > length]
        if longer:
            return min(longer, key=len)[:length]
        lengths = " and ".join(f"{len(tokens):,}" for tokens in lists)
        raise ShapeError(
            f"tokens must be as many as the sequence has, {length:,}, got {lengths}: give those "
            "that went into the model, special tokens and padding included."
        )

    def patches(self, length: int) -> dict[str, object] | None:
        """Return rows and columns of patches, and how many tokens stand before them."""
        grid = self.grid
        if grid is None and self.image is not None:
            tall, wide = self.image.shape[:2]
            grid = _guessed(length, tall / wide)
        if grid is None or not 0 <= length - grid[0] * grid[1] <= _MOST_BEFORE:
            return None
        return {"rows": grid[0], "columns": grid[1], "first": length - grid[0] * grid[1]}


@final
@dataclass(slots=True, eq=False)
class Sequences:
    """The sequences of a page, equal ones once.

    Attributes:
        legend: What the caller says of them.
        blocks: Where their arrays go.
        entries: What the header says of them.
    """

    legend: Legend
    blocks: Blocks
    entries: list[dict[str, object]] = field(default_factory=list)

    def of(self, seen: Seen, hidden: Hidden, *, source: bool | None) -> tuple[int, int]:
        """Return the numbers of the sequences of queries and of keys.

        Args:
            seen: One call of one sequence.
            hidden: Which tokens are padding.
            source: Whether it belongs to the encoder beside a decoder; None if there is but one
                sequence.
        """
        n, m = seen.q.shape[2], seen.k.shape[2]
        if seen.cross:
            keys = self._number("source", m, hidden.keys, tokens=self.legend.named(m, source=True))
            tokens = self.legend.named(n)
            return self._number("target", n, hidden.queries, tokens=tokens), keys
        name = "text" if source is None else "source" if source else "target"
        tokens = self.legend.named(m, source=bool(source), growing=n < m)
        starts = _documents(seen, m)
        keys = self._number(name, m, hidden.keys, tokens=tokens, starts=starts)
        # Queries are the last ones of their keys, whose tokens serve them too.
        return (keys if n <= m else self._number("queries", n, None, tokens=None)), keys

    def check_grid(self) -> None:
        """Refuse a grid of patches that no sequence has.

        Raises:
            ShapeError: If there is one, and all sequences are of other lengths.
        """
        grid = self.legend.grid
        if grid is None or any(entry["grid"] is not None for entry in self.entries):
            return
        patches, lengths = grid[0] * grid[1], sorted({_length(one) for one in self.entries})
        raise ShapeError(
            f"grid must have as many patches as a sequence has tokens, or up to {_MOST_BEFORE} "
            f"fewer, got {grid[0]} x {grid[1]} = {patches:,} for "
            f"{' and '.join(f'{length:,}' for length in lengths)}: give the rows and columns that "
            "the model makes of its image."
        )

    def _number(
        self,
        name: str,
        length: int,
        padded: Bool[Tensor, "l"] | None,
        *,
        tokens: list[str] | None,
        starts: Sequence[int] = (),
    ) -> int:
        grid = self.legend.patches(length)
        if tokens is None:
            tokens = [_place(token, grid) for token in range(length)]
        block = None if padded is None else self.blocks.add(padded.numpy(), "u8")
        if grid is not None:
            grid = {**grid, "image": self._image()}
        entry: dict[str, object] = {
            "name": name,
            "tokens": tokens,
            "documents": list(starts),
            "padded": block,
            "grid": grid,
        }
        if entry not in self.entries:
            self.entries.append(entry)
        return self.entries.index(entry)

    def _image(self) -> dict[str, object] | None:
        image = self.legend.image
        if image is None:
            return None
        tall, wide = image.shape[:2]
        return {"width": wide, "height": tall, "rgb": self.blocks.add(image, "u8")}


def _is_grid(grid: object) -> bool:
    if not isinstance(grid, tuple | list) or len(grid) != 2:
        return False
    return all(isinstance(side, int) and side >= 1 for side in grid)


def _length(entry: dict[str, object]) -> int:
    tokens = entry["tokens"]
    assert isinstance(tokens, list)
    return len(tokens)


def _tokens(tokens: object) -> Tokens | None:
    if tokens is None:
        return None
    if (
        isinstance(tokens, tuple)
        and len(tokens) == 2
        and not any(isinstance(t, str) for t in tokens)
    ):
        source, target = (_words(some) for some in tokens)
        return source, target
    return _words(tokens)


def _words(tokens: object) -> list[str]:
    if isinstance(tokens, list | tuple) and all(isinstance(token, str) for token in tokens):
        return list(tokens)
    raise ShapeError(
        "tokens must be a list of strings, or such lists of a source and a target, got "
        f"{tokens!r:.60}: a tokenizer's convert_ids_to_tokens makes one."
    )


def _documents(seen: Seen, m: int) -> list[int]:
    """Return the first token of each document of the keys, none if there is but one."""
    segments = seen.wishes.get("segments")
    if segments is None:
        return []
    numbers = segments[0].cpu().numpy()[-m:]
    cuts = np.flatnonzero(np.diff(numbers)) + 1
    return [0, *cuts.tolist()] if len(cuts) else []


def _guessed(length: int, slope: float) -> tuple[int, int] | None:
    """Return the grid of the shape of an image that leaves the fewest tokens before it."""
    for first in range(min(_MOST_BEFORE, length - 1) + 1):
        rows = round(((length - first) * slope) ** 0.5)
        columns = (length - first) // max(1, rows)
        if rows * columns == length - first and rows == round(columns * slope):
            return rows, columns
    return None


def _place(token: int, grid: dict[str, object] | None) -> str:
    """Name a token by its place."""
    if grid is None:
        return str(token)
    first, columns = int(str(grid["first"])), int(str(grid["columns"]))
    if token < first:
        return str(token)
    row, column = divmod(token - first, columns)
    return f"patch {row},{column}"
