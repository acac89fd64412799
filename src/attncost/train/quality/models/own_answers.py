"""Texts of one length, and what the model says of them as it is, with its calls of attention."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, final

import torch
from jaxtyping import Int
from torch import Tensor

from attncost.core.errors import ShapeError
from attncost.train.quality.models.layer_reads import Answer, attended
from attncost.train.quality.models.outputs import Output, run
from attncost.train.quality.models.reading import Reading
from attncost.view.capture.capture import capture
from attncost.view.seen import Seen

Calls: TypeAlias = Mapping[str, tuple[tuple[Seen, Answer], ...]]


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Batch:
    """Some texts, read by the model as it is.

    Attributes:
        numbers: Which texts.
        ids: Their tokens.
        own: What the model says of them.
        calls: Its calls of attention by the name of the layer, each with what it returns.
    """

    numbers: tuple[int, ...]
    ids: Int[Tensor, "b n"]
    own: Output
    calls: Calls


def read(reading: Reading, numbers: tuple[int, ...], ids: Int[Tensor, "b n"]) -> Batch:
    """Let a model read some texts.

    Raises:
        ShapeError: If no call of attention can be seen.
    """
    with capture(reading.model, values=True) as captured:
        own = run(reading, ids)
    if not captured:
        raise ShapeError(
            f"{reading.name} made no call of attention that can be seen: expected a model of "
            "transformers."
        )
    calls = {
        name: tuple((seen, attended(seen, seen.pattern)) for seen in calls)
        for name, calls in captured.items()
    }
    return Batch(numbers=numbers, ids=ids, own=own, calls=calls)


def longest(reading: Reading) -> Batch:
    """Let a model read its longest text."""
    number = max(range(len(reading.texts)), key=lambda one: len(reading.texts[one]))
    return read(reading, (number,), torch.tensor([reading.texts[number]]))
