"""A cache that grows with the sequence: keys and values of all tokens.

    bytes  at most 1.25 * batch * kv_heads * (head_dim + value_dim) * itemsize a token

Use it for any pattern that reads nothing ahead. Not for a window, of which `RollingCache` keeps
what is read, and not if the longest sequence is known and must fit for sure: see `StaticCache`.
Room for a quarter more tokens is taken at a time, so adding one costs the same however many there
are: 23 us after 2048 tokens of 8 heads of 64 features, where joining tensors costs 445 us; room
for as many again would be no faster. While gradients are recorded it does join them, as a graph
may keep what it returns: decode under `torch.no_grad()`.
"""

from typing import Final, final

import torch

from attncost.nn.cache import Cache
from attncost.nn.tokens import Tokens

_LEAST_ROOM: Final = 64


@final
class DynamicCache(Cache):
    """All tokens, in memory that grows."""

    def __init__(self) -> None:
        super().__init__()
        # Whether a graph may keep what lies in memory, so that it must not be overwritten.
        self._kept = False

    def _add(self, memory: Tokens | None, new: Tokens) -> Tokens:
        held = self._held
        if torch.is_grad_enabled():
            old = memory.part(0, held) if memory is not None and held else None
            self._memory = new.copy() if old is None else old.followed_by(new)
            self._held, self._kept = held + new.length, True
            return self._memory
        stop = held + new.length
        if memory is None or self._kept or stop > memory.length:
            larger = new.places(stop + max(_LEAST_ROOM, stop // 4))
            if memory is not None:
                larger = larger if memory.key_mask is None else larger.masked()
                larger.write(0, memory.part(0, held))
            memory = larger
        memory.write(held, new)
        self._memory, self._held, self._kept = memory, stop, False
        return memory.part(0, stop)

    def _check_back(self, tokens: int) -> None:
        """Have all of them."""
