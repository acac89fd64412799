"""What a model reads of each text: all of it, or what it has positions for, by a rule of `RULES`.

    refuse   a text that is too long stops everything, with an error that counts all of them
    cut      its first tokens are read, and the others are not
    split    it is read in pieces, all but the last as long as they may be; none sees another

A text without tokens is one empty piece: it keeps its place among the others, takes no slot and has
an output without rows. A text of one token is read like any other, but predicts nothing when a
language model is trained, as no token follows it; a last piece of one token does not, either.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal, SupportsIndex, TypeAlias, final, get_args

from attncost.batches.interface import check_dials
from attncost.batches.lengths import check_lengths
from attncost.core.counts import ceil_div
from attncost.core.errors import ShapeError, UnknownName
from attncost.core.notebook import as_html

TooLong: TypeAlias = Literal["refuse", "cut", "split"]
RULES: Final[tuple[TooLong, ...]] = get_args(TooLong)


@final
@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive tokens of a text, as in `ids[piece.text][piece.start : piece.stop]`.

    Attributes:
        text: The number of the text.
        start: Its first token.
        stop: The token after its last.
    """

    _repr_html_ = as_html

    text: int
    start: int
    stop: int

    @property
    def tokens(self) -> int:
        """How many there are: the length that goes into a batch."""
        return self.stop - self.start


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class OddTexts:
    """Texts that are not read like others, and what becomes of them, which `str` says.

    Attributes:
        texts: All texts.
        empty: Those without tokens.
        single: Those of one token.
        too_long: Those that are longer than the model reads.
        longest: Tokens that the model reads; None for any number.
        rule: What becomes of those that are too long.
        pieces: What the model reads in their place.
        unread: Tokens of theirs that it does not read.
        unit: What is counted, if that is no tokens.
    """

    _repr_html_ = as_html

    texts: int
    empty: int
    single: int
    too_long: int
    longest: int | None
    rule: TooLong
    pieces: int
    unread: int
    unit: Literal["tokens", "words"] = "tokens"

    @property
    def sentences(self) -> tuple[str, ...]:
        """One for each kind of which there are any."""
        split = f"split into {self.pieces:,} pieces that do not see each other."
        cut = f"cut off there, {self.unread:,} {self.unit} are not read."
        kinds = (
            (self.empty, f"without {self.unit}: a place among the others, and no output."),
            (self.single, f"of one {self.unit[:-1]}: nothing follows that training could predict."),
            (
                self.too_long,
                f"longer than {self.longest or 0:,} {self.unit}: "
                f"{cut if self.rule == 'cut' else split}",
            ),
        )
        return tuple(f"{_of(count, self.texts)} {what}" for count, what in kinds if count)

    def __str__(self) -> str:
        return " ".join(self.sentences) or f"All {self.texts:,} texts are read as they are."


def pieces(
    lengths: Iterable[SupportsIndex], *, longest: int | None, too_long: TooLong = "refuse"
) -> tuple[Piece, ...]:
    """Return what a model reads, text by text.

    >>> pieces([3, 0, 5], longest=4, too_long="split")[1:]
    (Piece(text=1, start=0, stop=0), Piece(text=2, start=0, stop=4), Piece(text=2, start=4, stop=5))

    Args:
        lengths: Tokens of each text, at least 0.
        longest: Tokens that the model reads at most, special ones included; None for any number.
        too_long: What becomes of longer texts, one of `RULES`.

    Raises:
        ShapeError: If a text is too long and the rule is to refuse, or a number is too small.
        UnknownName: If there is no such rule.
    """
    read = check_lengths(lengths)
    most = _most(read, longest, too_long)
    if too_long == "cut":
        return tuple(Piece(text, 0, min(n, most)) for text, n in enumerate(read))
    return tuple(
        Piece(text, start, min(start + most, n))
        for text, n in enumerate(read)
        for start in range(0, n or 1, most)
    )


def odd_texts(
    lengths: Iterable[SupportsIndex], *, longest: int | None, too_long: TooLong = "refuse"
) -> OddTexts:
    """Return which texts are not read like others; `pieces` takes the same, and fails alike.

    >>> print(odd_texts([9, 0, 3, 6], longest=4, too_long="split"))
    1 of 4 texts is without tokens: a place among the others, and no output. 2 of 4 texts are \
longer than 4 tokens: split into 5 pieces that do not see each other.

    Args:
        lengths: Tokens of each text, at least 0.
        longest: Tokens that the model reads at most, special ones included; None for any number.
        too_long: What becomes of longer texts, one of `RULES`.

    Raises:
        ShapeError: If a text is too long and the rule is to refuse, or a number is too small.
        UnknownName: If there is no such rule.
    """
    read = check_lengths(lengths)
    most = _most(read, longest, too_long)
    beyond = [n for n in read if n > most]
    cut = too_long == "cut"
    return OddTexts(
        texts=len(read),
        empty=sum(n == 0 for n in read),
        single=sum(n == 1 for n in read),
        too_long=len(beyond),
        longest=longest,
        rule=too_long,
        pieces=len(beyond) if cut else sum(int(ceil_div(n, most)) for n in beyond),
        unread=sum(beyond) - most * len(beyond) if cut else 0,
    )


def _most(lengths: tuple[int, ...], longest: int | None, rule: TooLong) -> int:
    """Return how many tokens a piece may have."""
    if rule not in RULES:
        raise UnknownName("rule for texts that are too long", rule, RULES)
    greatest = max(lengths, default=0)
    if longest is None:
        return max(greatest, 1)
    check_dials(longest=longest)
    if greatest > longest and rule == "refuse":
        beyond = _of(sum(n > longest for n in lengths), len(lengths))
        raise ShapeError(
            f"texts must have at most {longest:,} tokens, got {greatest:,}: {beyond} too long; "
            "too_long='cut' reads the first tokens of those, and 'split' all of them in pieces."
        )
    return longest


def _of(count: int, texts: int) -> str:
    return f"{count:,} of {texts:,} texts {'is' if count == 1 else 'are'}"
