"""A cache of fixed memory: keys and values of at most `length` tokens.

    bytes  length * batch * kv_heads * (head_dim + value_dim) * itemsize, however many there are

Use it if the longest sequence is known: what fits at the first token fits at the last. Not for a
window, of which `RollingCache` keeps what is read. The memory is taken at the first token; what is
returned is the filled part of it, so no query ever sees an empty place.
"""

from typing import final

from attncost.core.errors import ShapeError
from attncost.nn.cache import Cache, lasting, refuse_gradient
from attncost.nn.tokens import Tokens


@final
class StaticCache(Cache):
    """All tokens, in memory for `length` of them.

    No gradient flows through it.

    Raises:
        ShapeError: If there is no room for a token.
    """

    def __init__(self, length: int) -> None:
        super().__init__()
        if length < 1:
            raise ShapeError(f"length must be at least 1 (room for one token), got {length}.")
        self.length = length

    def _add(self, memory: Tokens | None, new: Tokens) -> Tokens:
        stop = self._held + new.length
        if stop > self.length:
            raise ShapeError(
                f"the cache has room for {self.length} tokens and holds {self._held}, so "
                f"{new.length} more do not fit: make a StaticCache({stop}) or longer, "
                "or take a DynamicCache."
            )
        refuse_gradient(new, "StaticCache")
        memory = new.places(self.length) if memory is None else memory
        memory.write(self._held, new)
        self._memory, self._held = memory, stop
        return lasting(memory.part(0, stop))

    def _check_back(self, tokens: int) -> None:
        """Have all of them."""
