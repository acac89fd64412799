"""A row for each text, as long as the longest or as a way rounds it: what most models take.

    input_ids       5 6 7     attention_mask  1 1 1     labels   5    6    7
                    8 0 0                     1 0 0              8 -100 -100

An empty text is a row of padding; of empty texts alone, rows have no slot.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, final, get_args

import torch
from jaxtyping import Int
from torch import Tensor

from attncost.batches.examples import IDS, check_whole, columns
from attncost.batches.interface import Batching, check_way
from attncost.batches.labels import IGNORED, LABELS, Labels, check_labels, labelled
from attncost.core.errors import UnknownName
from attncost.core.notebook import as_html

Side: TypeAlias = Literal["right", "left"]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class PaddingCollator:
    """Lays texts into rows of one length; the `collate_fn` of a `DataLoader`.

    >>> batch = PaddingCollator(labels="ids")([[5, 6, 7], [8]])
    >>> batch["input_ids"].tolist(), batch["attention_mask"].tolist()
    ([[5, 6, 7], [8, 0, 0]], [[1, 1, 1], [1, 0, 0]])
    >>> batch["labels"].tolist()
    [[-100, 6, 7], [-100, -100, -100]]

    Attributes:
        pad: The id that fills rows. No mask is made from it, so a text may have it, too.
        side: Where padding lies.
        way: Says how many slots a row has: give it the way of the sampler, else its rounding
            reaches no batch. Without a way a row is as long as the longest text.
        labels: What the labels of the texts are, see `attncost.batches.labels`; None if they have
            none.

    Raises:
        ShapeError: If a number is none, or a way is none.
        UnknownName: If a word means nothing.
        UnsupportedOption: If the way packs.
    """

    _repr_html_ = as_html

    pad: int = 0
    side: Side = "right"
    way: Batching | None = None
    labels: Labels | None = None

    def __post_init__(self) -> None:
        check_whole(pad=self.pad)
        check_way(self.way, packs=False)
        check_labels(self.labels)
        if self.side not in get_args(Side):
            raise UnknownName("side", str(self.side), get_args(Side))

    def __call__(self, examples: Sequence[object]) -> dict[str, Tensor]:
        """Return the batch: int64, each (texts, slots).

        Args:
            examples: The texts, see `attncost.batches.examples`.

        Returns:
            `input_ids`, `attention_mask` (1 for a token) and what else the texts have; -100 for
            labels of padding, 0 for all others.

        Raises:
            ShapeError: If an example is no text, or its labels are not as `labels` says.
        """
        texts = labelled(columns(examples), self.labels)
        fillers = {IDS: self.pad, LABELS: IGNORED}
        batch = {name: self._rows(rows, fillers.get(name, 0)) for name, rows in texts.items()}
        return batch | {"attention_mask": self._rows([torch.ones_like(x) for x in texts[IDS]], 0)}

    def _rows(self, texts: list[Tensor], filler: int) -> Int[Tensor, "b n"]:
        longest = max(map(len, texts))
        slots = self.way.row_slots(longest) if self.way else longest
        rows = texts[0].new_full((len(texts), slots), filler)
        for row, text in zip(rows, texts, strict=True):
            first = slots - len(text) if self.side == "left" else 0
            row[first : first + len(text)] = text
        return rows
