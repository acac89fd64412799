"""A text whose lines are put into batches, as numbers alone."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final, Literal, final

from attncost.batches.pieces import odd_texts, pieces
from attncost.batches.priced import shuffled
from attncost.batches.waste import waste_of
from attncost.batches.ways.padded import Padded

_RULE: Final = "cut"
# An odd number of shuffles has one in the middle.
_SHUFFLES: Final = 21
# Of more lines than these every shuffle wastes the same.
_FEW: Final = 20_000
_COUNTED: Final = {
    "tokens": "in tokens of the model's own tokenizer",
    "words": "in words between spaces, as there is no tokenizer here",
}


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Text:
    """A text whose lines are sequences.

    Attributes:
        name: Its file.
        lengths: Tokens of each line, or words where there is no tokenizer.
        unit: Which of the two.
        batch_size: Lines in a batch of those that come at random.
        blank: Lines of the file that hold nothing, and are none of these.
    """

    name: str
    lengths: Sequence[int]
    unit: Literal["tokens", "words"]
    batch_size: int
    blank: int = 0

    def kept(self, longest: int | None) -> tuple[int, ...]:
        """Return what a model reads of each line: longer ones are cut, as its tokenizer does.

        Args:
            longest: Where it cuts a line off; None for nowhere.
        """
        return tuple(one.tokens for one in pieces(self.lengths, longest=longest, too_long=_RULE))

    def described(self, longest: int | None) -> tuple[str, ...]:
        """Say how many lines it has, and what becomes of those that are not read like others.

        Args:
            longest: Where the model cuts a line off; None for nowhere.
        """
        kept = self.kept(longest)
        middle = f"{median(kept):,.1f}".removesuffix(".0")
        said = (
            f"{self.name}, {_COUNTED[self.unit]}: {_lines(len(kept))} of {min(kept):,} to "
            f"{max(kept):,}, median {middle}, together {sum(kept):,}."
        )
        odd = replace(odd_texts(self.lengths, longest=longest, too_long=_RULE), unit=self.unit)
        blank = (f"{_lines(self.blank)} of the file {_are(self.blank)} blank, and no text.",)
        return (said, *odd.sentences, *(blank if self.blank else ()))

    def order(self, longest: int | None) -> tuple[int, ...]:
        """Return the numbers of the lines as chance has them: of several shuffles the middle one.

        Batches of one shuffle may take a tenth less than those of another, if there are few.

        Args:
            longest: Where the model cuts a line off; None for nowhere.
        """
        kept, way = self.kept(longest), Padded(self.batch_size)
        found = []
        for seed in range(_SHUFFLES if len(kept) <= _FEW else 1):
            order = shuffled(len(kept), seed=seed)
            waste = waste_of(batch.layout(kept) for batch in way.batches(kept, order))
            found.append((waste.multiplied, order))
        return sorted(found)[len(found) // 2][1]


def _lines(number: int) -> str:
    return f"{number:,} {'line' if number == 1 else 'lines'}"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
