"""The texts of a batch: for each of them whole numbers, one a token.

An example is a dict of `input_ids` and whatever else has a number for each token, or the ids alone:
lists, arrays or tensors. What is no such thing is refused by its name, and nothing is left out but
an `attention_mask` that hides nothing, since a batch makes its own.
"""

from collections.abc import Mapping, Sequence
from operator import index
from reprlib import repr as shortened
from typing import Final, TypeAlias

import numpy as np
import torch
from torch import Tensor

from attncost.core.errors import ShapeError

IDS: Final = "input_ids"

# What one text has, by name, and what all texts have.
Text: TypeAlias = dict[str, Tensor]
Columns: TypeAlias = dict[str, list[Tensor]]


def columns(examples: Sequence[object]) -> Columns:
    """Return the numbers of all texts by name, as int64.

    >>> columns([[5, 6, 7], [8]])
    {'input_ids': [tensor([5, 6, 7]), tensor([8])]}

    Args:
        examples: The texts of a batch; or one list of them, as a `DataLoader` of batch size 1 gives
            where an item of the data is a batch.

    Raises:
        ShapeError: If a text is no such numbers, or texts do not have the same names.
    """
    texts = _unwrapped(examples)
    if any(map(_is_batch, texts)):
        raise ShapeError(
            f"a collator takes the texts of one batch, got {len(texts)} items of which one is a "
            "batch itself: set batch_size=1 of the DataLoader, or per_device_train_batch_size=1 "
            "and per_device_eval_batch_size=1 of TrainingArguments."
        )
    return _columns([_text(f"text {i}", example) for i, example in enumerate(texts)])


def _columns(texts: Sequence[Text]) -> Columns:
    if not texts:
        raise ShapeError("a batch must hold one text or more, got none: [[]] is an empty text.")
    names = texts[0].keys()
    for i, text in enumerate(texts):
        if text.keys() != names:
            odd = ", ".join(sorted(text.keys() ^ names))
            raise ShapeError(
                f"the texts of a batch must have the same names, got {odd} in text 0 or text {i} "
                "alone: give it to all of them or to none."
            )
    return {name: [text[name] for text in texts] for name in names}


def check_whole(**numbers: object) -> None:
    """Refuse what is no whole number of at least 0.

    Raises:
        ShapeError: If one is not.
    """
    for name, value in numbers.items():
        if isinstance(value, bool) or not hasattr(value, "__index__") or index(value) < 0:
            raise ShapeError(f"{name} must be a whole number of at least 0, got {value!r}.")


def _unwrapped(examples: Sequence[object]) -> Sequence[object]:
    if len(examples) != 1 or not isinstance(examples[0], list | tuple) or not examples[0]:
        return examples
    first = examples[0][0]
    return examples[0] if _is_text(first) else examples


def _is_text(value: object) -> bool:
    return isinstance(value, Mapping | Sequence) or getattr(value, "ndim", 0) > 0


def _is_batch(example: object) -> bool:
    return (
        isinstance(example, list | tuple)
        and bool(example)
        and not isinstance(example[0], str)
        and _is_text(example[0])
    )


def _text(where: str, example: object) -> Text:
    given = example if isinstance(example, Mapping) else {IDS: example}
    if IDS not in given:
        raise ShapeError(f"{where} must have {IDS}, got {', '.join(map(str, given)) or 'nothing'}.")
    text = {str(name): _numbers(f"{name} of {where}", value) for name, value in given.items()}
    tokens = len(text[IDS])
    for name, numbers in text.items():
        if len(numbers) != tokens:
            raise ShapeError(
                f"{name} of {where} must have a number for each of its {tokens} tokens, got "
                f"{len(numbers)}: leave out what does not belong to tokens."
            )
    if tokens and int(text[IDS].min()) < 0:
        raise ShapeError(
            f"{IDS} of {where} must be at least 0, got {int(text[IDS].min())}: -100 is for labels."
        )
    mask = text.pop("attention_mask", None)
    if mask is not None and not mask.all():
        raise ShapeError(f"attention_mask of {where} hides tokens: give texts without padding.")
    return text


def _numbers(what: str, value: object) -> Tensor:
    found = value if isinstance(value, Tensor) else _array(value)
    if found is not None and found.ndim == 1:
        if not len(found):
            return torch.zeros(0, dtype=torch.int64)
        if isinstance(found, Tensor):
            if not (found.is_floating_point() or found.is_complex()):
                return found.to(torch.int64)
        elif found.dtype.kind in "biu":
            return torch.from_numpy(found.astype(np.int64))
    got = " ".join(shortened(value).split())
    raise ShapeError(
        f"{what} must be whole numbers, one for each token, got {got}: tokenise text, and leave "
        "out what does not belong to tokens."
    )


def _array(value: object) -> np.ndarray | None:
    try:
        return np.asarray(value)
    except ValueError:  # Lists of unequal length.
        return None
