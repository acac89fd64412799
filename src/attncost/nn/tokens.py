"""Keys and values of neighbouring tokens, and memory that holds them.

bytes  batch * kv_heads * (head_dim + value_dim) * itemsize a token, and 1 * batch with a mask
"""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


@final
@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """Neighbouring tokens, or places for them.

    Attributes:
        k: Keys (b, g, n, d).
        v: Values (b, g, n, e).
        key_mask: True where a key may be read; None if all may.
    """

    k: Float[Tensor, "b g n d"]
    v: Float[Tensor, "b g n e"]
    key_mask: Bool[Tensor, "b n"] | None

    @property
    def length(self) -> int:
        """How many they are."""
        return self.k.shape[2]

    @property
    def nbytes(self) -> int:
        """Bytes of memory that are kept alive, so of whole buffers where these are views."""
        tensors = (self.k, self.v, self.key_mask)
        return sum(x.untyped_storage().nbytes() for x in tensors if x is not None)

    def places(self, count: int) -> "Tokens":
        """Return memory for so many tokens like these, not yet written."""
        k, v, mask = self.k, self.v, self.key_mask
        return Tokens(
            k.new_empty(*k.shape[:2], count, k.shape[3]),
            v.new_empty(*v.shape[:2], count, v.shape[3]),
            None if mask is None else mask.new_ones(mask.shape[0], count),
        )

    def part(self, start: int, stop: int) -> "Tokens":
        """Return some of them, without a copy."""
        mask = self.key_mask
        return Tokens(
            self.k[:, :, start:stop],
            self.v[:, :, start:stop],
            None if mask is None else mask[:, start:stop],
        )

    def write(self, start: int, new: "Tokens") -> None:
        """Overwrite what lies from `start` on; what has no mask may be read."""
        stop = start + new.length
        self.k[:, :, start:stop] = new.k
        self.v[:, :, start:stop] = new.v
        if self.key_mask is not None:
            self.key_mask[:, start:stop] = True if new.key_mask is None else new.key_mask

    def masked(self) -> "Tokens":
        """Return them with a mask: their own, or one that hides nothing."""
        if self.key_mask is not None:
            return self
        shape = self.k.shape[0], self.k.shape[2]
        return Tokens(self.k, self.v, torch.ones(shape, dtype=torch.bool, device=self.k.device))

    def followed_by(self, other: "Tokens") -> "Tokens":
        """Return a copy of these and the others."""
        if self.key_mask is None and other.key_mask is None:
            mask = None
        else:
            masks = [x for x in (self.masked().key_mask, other.masked().key_mask) if x is not None]
            mask = torch.cat(masks, 1)
        return Tokens(torch.cat((self.k, other.k), 2), torch.cat((self.v, other.v), 2), mask)

    def selected(self, indices: Int[Tensor, "c"]) -> "Tokens":
        """Return a copy whose sequences are these ones."""
        mask = self.key_mask
        return Tokens(
            self.k.index_select(0, indices),
            self.v.index_select(0, indices),
            None if mask is None else mask.index_select(0, indices),
        )

    def copy(self) -> "Tokens":
        """Return them in memory of their own."""
        mask = self.key_mask
        return Tokens(self.k.clone(), self.v.clone(), None if mask is None else mask.clone())

    def without_mask(self) -> "Tokens":
        """Return them such that all may be read."""
        return Tokens(self.k, self.v, None)
