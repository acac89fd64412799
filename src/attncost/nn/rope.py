"""Rotary position embedding: queries and keys are turned by angles that grow with their position.

    (x_i, x_{i + d/2}) turned by  position / base^(2 i / d)                    time  O(n h d)

The score of a query and a key then depends on their distance alone, so padding on the left and the
start of a packed document change nothing. Angles and rotation are computed in float32 at least. It
knows no rescaling for longer contexts (linear, YaRN, Llama 3): a model that was extended by one is
not reproduced.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from jaxtyping import Float
from torch import Tensor

from attncost.core.errors import ShapeError


@final
@dataclass(frozen=True, slots=True)
class Rope:
    """Rotary position embedding, features paired as in Hugging Face's Llama.

    Attributes:
        base: How slowly the last pair turns; Llama 3 takes 500000.
        dims: How many features turn, the first ones, as in GPT-NeoX; all of them if left out.
    """

    source: ClassVar[str] = "Su et al. 2021, arXiv:2104.09864"

    base: float = 10000.0
    dims: int | None = None

    def __post_init__(self) -> None:
        if not 0 < self.base < math.inf:
            raise ShapeError(f"base must be a number greater than 0, got {self.base}.")
        if self.dims is not None and (self.dims < 2 or self.dims % 2):
            raise ShapeError(f"dims must be even (features turn in pairs), got {self.dims}.")

    def turning(self, head_dim: int) -> int:
        """Return how many of a head's features turn.

        Raises:
            ShapeError: If there are not so many, or if one would have no partner.

        >>> Rope(dims=16).turning(64)
        16
        """
        dims = head_dim if self.dims is None else self.dims
        if dims > head_dim:
            raise ShapeError(f"dims must be at most head_dim = {head_dim}, got {dims}.")
        if dims % 2:
            raise ShapeError(
                f"RoPE turns features in pairs, got head_dim = {head_dim}: make it even, or set "
                "dims to an even number of features that turn."
            )
        return dims

    def rotate(self, x: Float[Tensor, "b h n d"], first: int = 0) -> Float[Tensor, "b h n d"]:
        """Turn queries or keys.

        Args:
            x: Queries or keys at neighbouring positions.
            first: The position of the first of them; with a cache, the tokens that it has seen.

        Raises:
            ShapeError: If the features do not come in pairs.
        """
        n, d = x.shape[2:]
        dims = self.turning(d)
        wide = torch.promote_types(x.dtype, torch.float32)
        share = torch.arange(0, dims, 2, device=x.device, dtype=wide) / dims
        position = torch.arange(first, first + n, device=x.device, dtype=wide)
        # Rounded as others do, since at position 100,000 a last bit is 0.01 of an angle.
        angle = position[:, None] * (1.0 / self.base**share)
        cos, sin = angle.cos(), angle.sin()
        left, right, still = x.split((dims // 2, dims // 2, d - dims), -1)
        turned = torch.cat((left * cos - right * sin, right * cos + left * sin), -1).to(x.dtype)
        return torch.cat((turned, still), -1) if d > dims else turned
