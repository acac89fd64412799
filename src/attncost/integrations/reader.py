"""A model, and what lays texts out for it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

from torch import nn

from attncost.batches.interface import Batching

# Lays the texts of a batch out; what it returns, a model is called with by keyword.
Collate: TypeAlias = Callable[[Sequence[Sequence[int]]], Mapping[str, Any]]


@final
@dataclass(frozen=True, slots=True)
class Reader:
    """A model that reads batches of some ways.

    Attributes:
        model: The model.
        collator: Returns what lays out the batches of a way.
    """

    model: nn.Module
    collator: Callable[[Batching], Collate]
