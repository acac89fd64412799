"""Texts out of the lines of a file: a line a text, or all lines together in equal passages."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from attncost.core.errors import ShapeError
from attncost.integrations.pretrained import Tokens, tokens

# A text needs a next token, or something beside its special ones.
_LEAST: Final = 2


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Laid:
    """Texts, and what was done to get them.

    Attributes:
        texts: Tokens of each.
        described: How many there are, and what is left out, a sentence each.
    """

    texts: tuple[tuple[int, ...], ...]
    described: tuple[str, ...]


def each_line(folder: Path, lines: Sequence[str], *, longest: int, most: int, source: str) -> Laid:
    """Return a text for each line; those that are blank, too short or there already are left out.

    Args:
        folder: Where the tokenizer lies.
        lines: Of the file.
        longest: Tokens at which a text is cut.
        most: Texts to keep, evenly spread over the file.
        source: What the file is called.

    Raises:
        ShapeError: If nothing is left.
    """
    written = [line for line in lines if line.strip()]
    found = tokens(folder, [*dict.fromkeys(written)], longest=longest)
    fit = [one for one in found if len(one.ids) >= _LEAST and not all(one.special)]
    different = {one.ids: one for one in fit}
    if not different:
        raise ShapeError(f"{source} holds no line that the model can read: give another text.")
    kept = _spread([*different.values()], most)
    again, empty = len(written) - len(found) + len(fit) - len(different), len(found) - len(fit)
    return Laid(
        texts=tuple(one.ids for one in kept),
        described=(
            _which(len(kept), len(different), "line", source, [one.ids for one in kept]),
            *_counted(sum(one.left_out > 0 for one in kept), f"cut at {longest:,} tokens"),
            *_counted(again, "left out, as it repeats another", "left out, as they repeat others"),
            *_counted(empty, "left out, as it holds too few tokens", "too short, and left out"),
            *_counted(len(lines) - len(written), "blank"),
        ),
    )


def joined(folder: Path, lines: Sequence[str], *, longest: int, most: int, source: str) -> Laid:
    """Return passages of equal length out of all lines; what is left at the end is dropped.

    Args:
        folder: Where the tokenizer lies.
        lines: Of the file.
        longest: Tokens of each passage.
        most: Passages to keep, evenly spread over the file.
        source: What the file is called.

    Raises:
        ShapeError: If special tokens leave no room for others.
    """
    (whole,) = tokens(folder, ["\n".join(line for line in lines if line.strip())], longest=None)
    start, end = _marks(whole)
    body = whole.ids[len(start) : len(whole.ids) - len(end)]
    room = longest - len(start) - len(end)
    if room < 1 or longest < _LEAST:
        raise ShapeError(
            f"--length must leave room beside {len(start) + len(end)} special tokens, got "
            f"{longest}."
        )
    # A text that is shorter than one passage is a passage.
    count = max(1, len(body) // room)
    every = [(*start, *body[room * i : room * (i + 1)], *end) for i in range(count)]
    kept = _spread(every, most)
    rest = len(body) - count * room
    return Laid(
        texts=tuple(kept),
        described=(
            _which(len(kept), count, "passage", source, kept),
            *((f"{_tokens(rest)} at its end left out.",) if rest > 0 else ()),
        ),
    )


def _marks(whole: Tokens) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return what the tokenizer adds before and after a text."""
    words = [place for place, special in enumerate(whole.special) if not special]
    if not words:
        return whole.ids, ()
    return whole.ids[: words[0]], whole.ids[words[-1] + 1 :]


def _spread(every: list, most: int) -> list:  # type: ignore[type-arg]
    """Return at most so many, evenly spread."""
    if len(every) <= most:
        return every
    return [every[i * len(every) // most] for i in range(most)]


def _which(kept: int, of: int, kind: str, source: str, texts: Sequence[tuple[int, ...]]) -> str:
    lengths = sorted(map(len, texts))
    low, high = lengths[0], lengths[-1]
    size = f"{high:,} tokens" if low == high else f"{low:,} to {high:,} tokens"
    kinds = kind if of == 1 else f"{kind}s"
    if kept == of:
        return f"{source}: {of:,} {kinds} of {size}."
    return f"{source}: {kept:,} of its {of:,} {kinds}, evenly spread, of {size}."


def _counted(number: int, one: str, more: str | None = None) -> tuple[str, ...]:
    if not number:
        return ()
    return (f"1 line {one}." if number == 1 else f"{number:,} lines {more or one}.",)


def _tokens(number: int) -> str:
    return "1 token" if number == 1 else f"{number:,} tokens"
