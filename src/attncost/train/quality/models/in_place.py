"""An attention in place of a model's own, for as long as a block of code lasts."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch

from attncost.core.dims import Dims
from attncost.integrations.hf.swap import swap
from attncost.mechanisms.interface import Mechanism
from attncost.nn.learned import needs_length
from attncost.train.quality.models.outputs import Attention
from attncost.train.quality.models.reading import Reading

_SEED: Final = 0
_ANY: Final = Dims(length=1, head_dim=1)


@contextmanager
def in_place(
    reading: Reading,
    attention: Attention,
    layers: Any = None,  # noqa: ANN401 -- what swap takes
) -> Iterator[None]:
    """Swap an attention into a model; learned tensors are the same ones each time.

    Args:
        reading: The model, and the texts for the longest of which tensors are learned.
        attention: What is swapped in.
        layers: Into which layers; every layer if left out.
    """
    torch.manual_seed(_SEED)
    learns = isinstance(attention, Mechanism) and needs_length(attention, _ANY)
    length = reading.longest if learns else None
    with swap(reading.model, attention, layers=layers, length=length):
        yield
