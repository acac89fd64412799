"""A model with the texts that it reads, as numbers of tokens; none of them is padded."""

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, final

import torch
from jaxtyping import Int
from torch import Tensor, nn

if TYPE_CHECKING:
    from collections.abc import Iterator

Pooling: TypeAlias = Literal["mean", "cls", "last"]

# Of all texts of a batch together; more at once are not faster on a CPU, and need more memory.
_TOKENS: Final = 2048


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Reading:
    """A model, and texts for it.

    Attributes:
        name: As it was typed.
        model: The model.
        texts: Tokens of each text, special ones included.
        pooling: How its tokens become the vector of a text; None if it predicts the next token,
            and is judged by that.
        described: What it reads and what is left out, a sentence each.
    """

    name: str
    model: nn.Module
    texts: tuple[tuple[int, ...], ...]
    pooling: Pooling | None
    described: tuple[str, ...] = ()

    @property
    def longest(self) -> int:
        """Tokens of the longest text."""
        return max(map(len, self.texts))

    @property
    def shortest(self) -> int:
        """Tokens of the shortest text."""
        return min(map(len, self.texts))

    def batches(self) -> "Iterator[tuple[tuple[int, ...], Int[Tensor, 'b n']]]":
        """Yield the numbers of texts of one length, and their tokens."""
        order = sorted(range(len(self.texts)), key=lambda one: (len(self.texts[one]), one))
        for length, group in groupby(order, key=lambda one: len(self.texts[one])):
            alike, most = list(group), max(1, _TOKENS // length)
            for start in range(0, len(alike), most):
                numbers = tuple(alike[start : start + most])
                yield numbers, torch.tensor([self.texts[one] for one in numbers])
