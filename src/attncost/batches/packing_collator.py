"""All texts one behind the other in a single row, where nothing is padding.

    input_ids  5 6 7 8 9     segments  0 0 0 1 1     position_ids  0 1 2 0 1     lengths  3 2

Positions alone keep no text from reading another: attention must be told `segments`. An empty text
takes no slot and has its place in `lengths`; of empty texts alone, the row has no slot. A pattern
that counts from the start of the row, such as `Block`, reads other pairs here than in a text alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import torch
from jaxtyping import Int
from torch import Tensor

from attncost.batches.examples import IDS, Columns, check_whole, columns
from attncost.batches.interface import Batching, check_way
from attncost.batches.labels import IGNORED, LABELS, Labels, check_labels, labelled
from attncost.core.errors import ShapeError
from attncost.core.notebook import as_html

_OWN: Final = ("position_ids", "segments", "lengths")
# A number below 0 is padding, see `attncost.batches.rows`, and no text.
_PADDING: Final = -1


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class PackingCollator:
    """Lays texts one behind the other; the `collate_fn` of a `DataLoader`.

    >>> from attncost.batches.ways.packed import Packed
    >>> batch = PackingCollator(labels="ids", way=Packed(multiple=4))([[5, 6, 7], [8, 9]])
    >>> batch["input_ids"].tolist(), batch["labels"].tolist()
    ([[5, 6, 7, 8, 9, 0, 0, 0]], [[-100, 6, 7, -100, 9, -100, -100, -100]])
    >>> batch["position_ids"].tolist(), batch["segments"].tolist()
    ([[0, 1, 2, 0, 1, 0, 1, 2]], [[0, 0, 0, 1, 1, -1, -1, -1]])

    Attributes:
        pad: The id that fills the row up.
        first_position: Of the first token of each text: `padding_idx + 1`, so mostly 2, for RoBERTa
            and its kin, see https://github.com/huggingface/transformers/pull/47525.
        way: Says how many slots the row has: give it the way of the sampler, else its rounding
            reaches no batch. What fills the row up is one more document, which nobody looks at.
            Without a way it has as many as there are tokens.
        labels: What the labels of the texts are, see `attncost.batches.labels`; None if they have
            none.

    Raises:
        ShapeError: If a number is none, or a way is none.
        UnknownName: If a word means nothing.
        UnsupportedOption: If the way does not pack.
    """

    _repr_html_ = as_html

    pad: int = 0
    first_position: int = 0
    way: Batching | None = None
    labels: Labels | None = None

    def __post_init__(self) -> None:
        check_whole(pad=self.pad, first_position=self.first_position)
        check_way(self.way, packs=True)
        check_labels(self.labels)

    def __call__(self, examples: Sequence[object]) -> dict[str, Tensor]:
        """Return the batch: int64, each (1, slots), but `lengths` (texts).

        Args:
            examples: The texts, see `attncost.batches.examples`.

        Returns:
            `input_ids`, `position_ids`, `segments` (the number of the text of each token, -1 for
            padding), `lengths` and what else the texts have; -100 for labels of padding, 0 for all
            others.

        Raises:
            ShapeError: If an example is no text, or its labels are not as `labels` says.
        """
        texts = labelled(columns(examples), self.labels)
        _check_names(texts)
        sizes = [len(text) for text in texts[IDS]]
        tokens = sum(sizes)
        behind = self.way.row_slots(tokens) - tokens if self.way else 0
        counts = [torch.arange(size) + self.first_position for size in sizes]
        fillers = {IDS: self.pad, LABELS: IGNORED}
        batch = {name: _row(parts, behind, fillers.get(name, 0)) for name, parts in texts.items()}
        segments = [torch.full((size,), number) for number, size in enumerate(sizes)]
        return batch | {
            "position_ids": _row([*counts, torch.arange(behind) + self.first_position], 0, 0),
            "segments": _row(segments, behind, _PADDING),
            "lengths": torch.tensor(sizes),
        }


def _row(parts: list[Tensor], behind: int, filler: int) -> Int[Tensor, "1 t"]:
    return torch.cat([*parts, parts[0].new_full((behind,), filler)])[None]


def _check_names(texts: Columns) -> None:
    taken = [name for name in _OWN if name in texts]
    if taken:
        raise ShapeError(f"a packed batch makes {taken[0]} itself: leave it out of the texts.")
