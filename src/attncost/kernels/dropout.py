"""Which weights dropout keeps: a hash of seed, head, query and key, so that nothing is stored.

The same call drops the same weights in every kernel, forward and backward, in tiles or at once;
memory beyond the tile at hand is O(n). The mixing of bits is that of "murmur3" (Appleby 2011).
"""

from typing import Final

import torch
from jaxtyping import Bool, Int
from torch import Tensor

_MIX: Final = (-0x7A143595, -0x3D4D51CB)  # 0x85EBCA6B and 0xC2B2AE35 as signed numbers
_APART: Final = (0x9E3779B1, 0x27D4EB2F)  # odd, so that no two of 2^32 positions coincide


def kept(
    seed: Int[Tensor, ""],
    head: Int[Tensor, "*#s"],
    query: Int[Tensor, "*#s"],
    key: Int[Tensor, "*#s"],
    p: float,
) -> Bool[Tensor, "*#s"]:
    """Return True where a weight is kept, which happens with probability 1 - p.

    Args:
        seed: Of the call.
        head: Number of the head in the whole batch.
        query: Its position.
        key: Its position.
        p: Probability to drop a weight.
    """
    row = _mixed(_word(query * _APART[0] + head * _APART[1] + seed))
    column = _mixed(_word(key * _APART[1] + (seed >> 32) + 1))
    return _mixed(row ^ column) >= min(round((p - 0.5) * 2**32), 2**31 - 1)


def _word(number: Int[Tensor, "*s"]) -> Int[Tensor, "*s"]:
    """Return the lowest 32 bits, signed."""
    return (((number + 2**31) & (2**32 - 1)) - 2**31).to(torch.int32)


def _mixed(word: Int[Tensor, "*s"]) -> Int[Tensor, "*s"]:
    """Mix the bits of a fresh tensor in place."""
    for shift, factor in zip((16, 13), _MIX, strict=True):
        # A shift of a signed number drags its sign along, which is cut off; products wrap around.
        high = (word >> shift).bitwise_and_((1 << (32 - shift)) - 1)
        word.bitwise_xor_(high).mul_(factor)
    return word.bitwise_xor_((word >> 16).bitwise_and_(0xFFFF))
