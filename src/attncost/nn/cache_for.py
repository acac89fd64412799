"""Which cache a pattern needs for decoding token by token."""

from attncost.core.errors import UnsupportedOption
from attncost.nn.ahead import reads_ahead
from attncost.nn.cache import Cache
from attncost.nn.dynamic_cache import DynamicCache
from attncost.nn.rolling_cache import RollingCache
from attncost.nn.static_cache import StaticCache
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window


def cache_for(pattern: Pattern, *, length: int | None = None) -> Cache:
    """Return an empty cache that keeps what the pattern reads, for one layer.

    A causal window keeps `width` tokens and a quarter more, everything else keeps all of them.

    Args:
        pattern: What the layer reads.
        length: The longest sequence, if it is known: memory for it is taken once.

    Raises:
        UnsupportedOption: If a query reads a key after itself: what was returned for it would be
            wrong once that key comes.
        ShapeError: If `length` is less than 1, or the pattern says nothing of such a length.

    >>> from attncost import Window
    >>> cache_for(Window(256)).width
    256
    """
    if not isinstance(pattern, Pattern):
        raise UnsupportedOption(
            f"a cache holds what a pattern reads, and {pattern!r} is none: run the whole sequence."
        )
    if reads_ahead(pattern, length):
        raise UnsupportedOption(
            f"{pattern} reads keys after the query, so a token cannot be decoded before they are "
            "there: take `pattern & Causal()`, or run the whole sequence."
        )
    if isinstance(pattern, Window):
        return RollingCache(pattern.width)
    return DynamicCache() if length is None else StaticCache(length)
