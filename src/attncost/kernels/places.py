"""Where the queries and keys of some tiles stand, worked out when somebody asks."""

from functools import cached_property
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attncost.kernels.plan import Step


@final
class Places:
    """Rows and positions of the tiles of a step.

    Attributes:
        step: The tiles.
        earlier: Tokens that the segments number before the first key.
    """

    def __init__(self, step: Step, n: int, m: int, device: torch.device) -> None:
        self.step, self.earlier = step, max(n, m) - m
        self._lengths, self._device = (n, m), device

    def of_first_tile(self) -> "Places":
        """Return those of the first tile alone."""
        return Places(self.step.cut(0, 1), *self._lengths, self._device)

    @cached_property
    def rows(self) -> Int[Tensor, "t c"]:
        """Rows of q."""
        return self.step.queries.rows(self._device)

    @cached_property
    def keys(self) -> Int[Tensor, "t r"]:
        """Rows of k, which are also their positions."""
        return self.step.keys.rows(self._device)

    @property
    def query(self) -> Int[Tensor, "t 1 c 1"]:
        """Positions of queries."""
        n, m = self._lengths
        return (self.rows + (m - n))[:, None, :, None]

    @property
    def key(self) -> Int[Tensor, "t 1 1 r"]:
        """Positions of keys."""
        return self.keys[:, None, None, :]

    def in_bias(
        self, bias: Float[Tensor, "_ _ _ _"], sequence: int, heads: slice
    ) -> tuple[Tensor, ...]:
        """Return where the bias of the tiles stands; an axis of size 1 stays so."""
        b, h, n, m = bias.shape
        head = torch.arange(h, device=bias.device)
        rows, keys = self.rows[:, None, :, None], self.keys[:, None, None, :]
        return (
            torch.tensor(sequence if b > 1 else 0, device=bias.device),
            (head if h == 1 else head[heads])[:, None, None],
            rows if n > 1 else rows[:, :, :1] * 0,
            keys if m > 1 else keys[..., :1] * 0,
        )
