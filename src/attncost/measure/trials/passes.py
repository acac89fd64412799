"""All calls of a model that a way to put texts into batches makes, ready to be timed.

Batches are laid out before the clock starts: what is timed is the model, and not Python that a
`DataLoader` would hide behind it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from torch import nn

from attncost.batches.interface import Batching
from attncost.integrations.reader import Collate
from attncost.measure.clocks.interface import Run
from attncost.measure.subjects.modes import Forward

# What a model is called with, by keyword.
Inputs: TypeAlias = Mapping[str, Any]


def inputs_of(way: Batching, texts: Sequence[Sequence[int]], *, collate: Collate) -> list[Inputs]:
    """Return what a model is called with, batch by batch; batches of empty texts are left out.

    Args:
        way: Puts texts into batches.
        texts: The tokens of each, as they come.
        collate: Lays a batch out.
    """
    lengths = [len(text) for text in texts]
    return [
        collate([texts[number] for number in batch.texts])
        for batch in way.batches(lengths, range(len(texts)))
        if any(lengths[number] for number in batch.texts)
    ]


def passes(model: nn.Module, inputs: Iterable[Inputs]) -> Run:
    """Return one forward pass over all batches, which takes nothing with it from batch to batch.

    Args:
        model: Is called with each of them, in inference; it stays in its mode.
        inputs: What it is called with.
    """
    calls = [Forward(model, **one) for one in inputs]

    def run() -> None:
        for call in calls:
            call()

    return run
