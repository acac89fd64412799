"""Which label is compared with what a model says of which token.

    own      that of the token itself               masked words, tags
    shifted  that of the token before it            the next token, where the model shifts labels
    ids      the same, the ids being the labels

Shifted, the first label of a text would be predicted from what happens to stand before it: another
text, or padding. So it is -100, which no loss counts, and a text of one token has no label at all.
Of its own token no label is changed. Both go wrong silently in place of the other, so neither is a
default: examples with labels are refused until `labels=` says what theirs are.
"""

from typing import Final, Literal, TypeAlias, get_args

from torch import Tensor

from attncost.batches.examples import IDS, Columns
from attncost.core.errors import ShapeError, UnknownName

# What PyTorch's cross entropy leaves out.
IGNORED: Final = -100
LABELS: Final = "labels"

Labels: TypeAlias = Literal["own", "shifted", "ids"]


def check_labels(labels: Labels | None) -> None:
    """Refuse a word that means nothing.

    Raises:
        UnknownName: If it is not one of the three.
    """
    if labels is not None and labels not in get_args(Labels):
        raise UnknownName("kind of labels", str(labels), get_args(Labels))


def labelled(columns: Columns, labels: Labels | None) -> Columns:
    """Return the texts of a batch with the labels that count.

    Args:
        columns: What the texts have, by name.
        labels: What their labels are; None if they have none.

    Raises:
        ShapeError: If there are labels and nobody said what they are, or the other way round.
    """
    if (LABELS in columns) != (labels in ("own", "shifted")):
        raise ShapeError(_ODD[labels])
    if labels is None or labels == "own":
        return columns
    given = columns[IDS if labels == "ids" else LABELS]
    return columns | {LABELS: [_without_first(label) for label in given]}


_ODD: Final[dict[Labels | None, str]] = {
    None: "labels='shifted' or labels='own' must say whether the model compares a label with the "
    "token before it (it predicts the next token) or with its own (masked words, tags).",
    "own": "labels='own' needs labels in every text, got none: leave it out, or give them.",
    "shifted": "labels='shifted' needs labels in every text, got none: labels='ids' takes the ids.",
    "ids": "labels='ids' takes the ids as labels, got labels, too: labels='shifted' takes those.",
}


def _without_first(label: Tensor) -> Tensor:
    label = label.clone()
    label[:1] = IGNORED
    return label
