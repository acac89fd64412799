"""Stepped: each text is padded to the least of a few widths that holds it.

    slots  rows * width      pairs  rows * width²      shapes  (size, width), and few others

For what is made anew for each shape: compiled code, recorded graphs, buffers. The last batch of
each width may have fewer rows, which is one more shape each.
A text beyond the widest is alone, in a row of a multiple of the widest: nothing is cut here, and
such rows have few shapes, too. Texts without tokens go with the narrowest; a batch that has no
others has no slots.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, final

from attncost.batches.batch import Batch, each_alone
from attncost.batches.interface import Batching, check_dials
from attncost.batches.machine import PAIRS_PER_SLOT
from attncost.batches.widths import best_widths
from attncost.core.counts import rounded_up
from attncost.core.errors import ShapeError


@final
@dataclass(frozen=True, slots=True)
class Stepped(Batching):
    """Batches of few shapes.

    Attributes:
        widths: Slots of a row, one of these, increasing; `best_widths` finds them.
        size: Texts in a batch; the last of each width may have fewer.

    Raises:
        ShapeError: If one of them is less than 1, or widths do not increase.
    """

    widths: tuple[int, ...] = (64, 128, 512)
    size: int = 32

    source: ClassVar[str] = "tf.data.Dataset.bucket_by_sequence_length"
    sorts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_dials(size=self.size, **{f"widths[{i}]": w for i, w in enumerate(self.widths)})
        if not self.widths or self.widths != tuple(sorted(set(self.widths))):
            raise ShapeError(
                f"widths must be a tuple that increases, such as (64, 128, 512), got {self.widths}."
            )

    @classmethod
    def examples(cls) -> tuple["Stepped", ...]:
        """Return one width and several, below most texts and above all."""
        return cls(), cls((16,), 3), cls((1, 2, 300), 4), cls((8, 24, 40), 1)

    @classmethod
    def dials(cls, lengths: Sequence[int]) -> tuple["Stepped", ...]:
        """Try the best 2, 4, 8 and 16 widths for 4 to 32 texts a batch."""
        widths = [best_widths(lengths, count=1 << i, price=_price) for i in range(1, 5)]
        sizes = [1 << i for i in range(2, 6) if i == 2 or 1 << i < 2 * len(lengths)]
        return tuple(cls(steps, size) for steps in dict.fromkeys(widths) for size in sizes)

    def batches(self, lengths: Sequence[int], order: Sequence[int]) -> tuple[Batch, ...]:
        """Let texts wait for others of their width until they are enough."""
        waiting: dict[int, list[int]] = {width: [] for width in self.widths}
        widest = self.widths[-1]
        found = []
        for text in order:
            if lengths[text] > widest:
                found.append(each_alone([text], multiple=widest))
                continue
            width = self._width(lengths[text])
            waiting[width].append(text)
            if len(waiting[width]) == self.size:
                found.append(each_alone(waiting[width], multiple=width))
                waiting[width] = []
        rest = (each_alone(texts, multiple=width) for width, texts in waiting.items() if texts)
        return (*found, *rest)

    def row_slots(self, tokens: int) -> int:
        """Take the least width that holds the tokens, or a multiple of the widest."""
        if not tokens:
            return 0
        widest = self.widths[-1]
        return self._width(tokens) if tokens <= widest else int(rounded_up(tokens, widest))

    def _width(self, tokens: int) -> int:
        return self.widths[bisect_left(self.widths, tokens)]


def _price(width: int) -> float:
    return width * (PAIRS_PER_SLOT + width)
