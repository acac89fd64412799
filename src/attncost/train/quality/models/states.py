"""How far the states of tokens move, after each block of a model.

    moves = mean over tokens of  ||after - before|| / ||before||

Each token is measured in its own size: in language models a few tokens are hundreds of times as
large as all others (Sun et al. 2024, arXiv:2402.17762), and a norm over all tokens would be theirs.
"""

from collections.abc import Sequence
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor


@final
class Moves:
    """The sum of what was seen so far."""

    def __init__(self) -> None:
        self._sums: list[float] = []
        self._tokens = 0

    def add(
        self, was: Sequence[Float[Tensor, "b n _"]], now: Sequence[Float[Tensor, "b n _"]]
    ) -> None:
        """See some texts, after each block."""
        moved = [_moved(before, after) for before, after in zip(was, now, strict=True)]
        sums = self._sums or [0.0] * len(moved)
        self._sums = [a + b for a, b in zip(sums, moved, strict=True)]
        self._tokens += was[0].shape[0] * was[0].shape[1]

    @property
    def by_block(self) -> tuple[float, ...]:
        """The mean over all tokens, after each block."""
        return tuple(one / self._tokens for one in self._sums)


def _moved(before: Float[Tensor, "b n c"], after: Float[Tensor, "b n c"]) -> float:
    size = torch.linalg.vector_norm(before, dim=-1, dtype=torch.float64)
    change = torch.linalg.vector_norm(after - before, dim=-1, dtype=torch.float64)
    return float((change / size.clamp(min=torch.finfo(torch.float32).tiny)).sum())
