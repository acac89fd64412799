"""Which cache a pattern or mechanism needs for decoding token by token."""

from typing import overload

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.mechanisms.interface import Mechanism
from attncost.nn.ahead import reads_ahead
from attncost.nn.attending import attending
from attncost.nn.cache import Cache
from attncost.nn.dynamic_cache import DynamicCache
from attncost.nn.rolling_cache import RollingCache
from attncost.nn.state_cache import StateCache
from attncost.nn.static_cache import StaticCache
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window


@overload
def cache_for(attention: Pattern, *, length: int | None = None) -> Cache: ...
@overload
def cache_for(attention: Mechanism, *, length: int | None = None) -> StateCache: ...
def cache_for(attention: Pattern | Mechanism, *, length: int | None = None) -> Cache | StateCache:
    """Return an empty cache that keeps what a pattern or mechanism reads, for one layer.

    A causal window keeps `width` tokens and a quarter more, a mechanism a state of one size,
    everything else keeps all tokens.

    Args:
        attention: What the layer reads.
        length: The longest sequence, if it is known: memory for it is taken once.

    Raises:
        UnsupportedOption: If a query reads a key after itself: what was returned for it would be
            wrong once that key comes.
        ShapeError: If `length` is less than 1, or the pattern says nothing of such a length.

    >>> from attncost import Window
    >>> cache_for(Window(256)).width
    256
    """
    attention = attending(attention)
    if length is not None and length < 1:
        raise ShapeError(f"length must be at least 1 (room for one token), got {length}.")
    if isinstance(attention, Mechanism):
        return StateCache(attention)
    if reads_ahead(attention, length):
        raise UnsupportedOption(
            f"{attention} reads keys after the query, so a token cannot be decoded before they are "
            "there: take `pattern & Causal()`, or run the whole sequence."
        )
    if isinstance(attention, Window):
        return RollingCache(attention.width)
    return DynamicCache() if length is None else StaticCache(length)
