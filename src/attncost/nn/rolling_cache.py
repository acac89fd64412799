"""A cache for a causal window: keys and values of the tokens that later queries can read.

    bytes  1.25 * width * batch * kv_heads * (head_dim + value_dim) * itemsize, however many tokens

Use it for `Window(width)`. Not for other patterns, which read further back.
The next query reads `width - 1` older keys. They move to the front of the memory when it is full,
which a quarter more room makes rare: copies then cost 8 to 12 us a token at widths of 256 to 4096,
and decoding costs the same as with twice the room (8 heads of 64 features in float32, one core).
Memory for `width` tokens alone would move all of them each time: 103 us at a width of 256, 2991 us
at 4096, which makes decoding 2.4 to 4 times as slow.
"""

from typing import Final, final

from attncost.core.errors import ShapeError
from attncost.nn.cache import Cache, lasting, refuse_gradient
from attncost.nn.tokens import Tokens

_LEAST_ROOM: Final = 16


@final
class RollingCache(Cache):
    """The last tokens, at least `width - 1` of them and at most a quarter more.

    The tokens of the last call can be taken back by `crop` if they are at most as many as that
    quarter, or 16. No gradient flows through it.

    Raises:
        ShapeError: If the width is not at least 1.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        if width < 1:
            raise ShapeError(
                f"width must be at least 1 (a query may always read itself), got {width}."
            )
        self.width = width

    def _add(self, memory: Tokens | None, new: Tokens) -> Tokens:
        refuse_gradient(new, "RollingCache")
        memory = new.places(self._places) if memory is None else memory
        held, first = self._held, max(0, self._held - (self.width - 1))
        read, self._held = self._read(memory, memory.part(first, held), new)
        self._memory = memory
        return read

    @property
    def _places(self) -> int:
        return self.width - 1 + max(_LEAST_ROOM, self.width // 4)

    def _read(self, memory: Tokens, old: Tokens, new: Tokens) -> tuple[Tokens, int]:
        """Write new tokens, and return them behind the old ones, and how many are held then."""
        if self._held + new.length <= memory.length:
            memory.write(self._held, new)
            held = self._held + new.length
            return lasting(memory.part(self._held - old.length, held)), held
        if old.length + new.length <= memory.length:
            memory.write(0, old.copy())
            memory.write(old.length, new)
            held = old.length + new.length
            return lasting(memory.part(0, held)), held
        read = old.followed_by(new) if old.length else new
        memory.write(0, read.part(read.length - memory.length, read.length))
        return read, memory.length

    def _check_back(self, tokens: int) -> None:
        earliest = self._tokens - (self._held - (self.width - 1))
        if min(tokens, self.width - 1) > max(0, self._held - (self._tokens - tokens)):
            raise ShapeError(
                f"a RollingCache of width {self.width} holds the last {self._held} of "
                f"{self._tokens} tokens and can go back to {earliest}, got {tokens}: "
                "copy the cache before, or take a DynamicCache."
            )
