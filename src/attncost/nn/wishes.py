"""What one call of `Attention` asks for, and whether its pattern or mechanism can honour it."""

import math
from dataclasses import dataclass
from typing import Final, final

from torch import Tensor

from attncost.core.errors import UnsupportedOption
from attncost.mechanisms.interface import Mechanism
from attncost.nn.ahead import reads_ahead
from attncost.nn.cache import Cache
from attncost.nn.rolling_cache import RollingCache
from attncost.nn.rope import Rope
from attncost.nn.state_cache import StateCache
from attncost.nn.streaming import streaming
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window

INEXACT: Final = (
    "{} is an approximation that weighs no pair of tokens, so it cannot honour {}: leave it out, "
    "or take a pattern such as attncost.Window()."
)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """The arguments of a call that speak of positions.

    Attributes:
        context: Tokens that are read in place of a layer's own.
        segments: A number for each token.
        cache: What is remembered of the tokens before.
        rope: The rotation of the layer.
    """

    context: Tensor | None
    segments: Tensor | None
    cache: Cache | StateCache | None
    rope: Rope | None

    def check(self, attention: Pattern | Mechanism) -> None:
        """Refuse what cannot be honoured.

        Raises:
            UnsupportedOption: If something cannot.
        """
        if isinstance(attention, Mechanism):
            self._check_mechanism(attention)
        if self.cache is not None and self.segments is not None:
            raise UnsupportedOption(
                "a cache does not remember segments: decode each document as its own sequence."
            )
        if self.context is None:
            return
        for name in ("segments", "cache", "rope"):
            if getattr(self, name) is not None:
                raise UnsupportedOption(
                    f"{name} speaks of the tokens of one sequence, and context is another: leave "
                    "one of the two out."
                )

    def _check_mechanism(self, mechanism: Mechanism) -> None:
        if self.segments is not None:
            raise UnsupportedOption(INEXACT.format(mechanism, "segments"))
        if self.context is not None and mechanism.causal:
            raise UnsupportedOption(
                f"{mechanism} reads what lies before a token, and nothing in context does: take "
                "a mechanism or pattern that is not causal for it."
            )
        if self.cache is None:
            return
        able = streaming(mechanism)
        if not isinstance(self.cache, StateCache) or self.cache.mechanism != able:
            raise UnsupportedOption(
                f"{mechanism} keeps a state of its own, which {_of(self.cache)} is not: take "
                "cache_for(mechanism)."
            )


def with_keys(pattern: Pattern, cache: Cache | StateCache, tokens: int) -> Cache:
    """Return a cache, and refuse one that lacks keys which the pattern reads, some not yet there.

    Args:
        pattern: What the layer reads.
        cache: Before the tokens of the call.
        tokens: Those of the call.

    Raises:
        UnsupportedOption: If it lacks some.
    """
    # From the first token on, whose output the second may change.
    if reads_ahead(pattern, max(2, cache.tokens + tokens)):
        raise UnsupportedOption(
            f"{pattern} reads ahead, where a cache has no tokens yet: take {pattern} & Causal(), "
            "or compute all tokens in one call without a cache."
        )
    if isinstance(cache, StateCache):
        raise UnsupportedOption(
            f"{pattern} reads keys, which {_of(cache)} does not keep: take cache_for(pattern)."
        )
    reach = pattern.width if isinstance(pattern, Window) else math.inf
    if isinstance(cache, RollingCache) and cache.width < reach:
        raise UnsupportedOption(
            f"RollingCache({cache.width}) lets go of keys that {pattern} may read: take "
            "cache_for(pattern)."
        )
    return cache


def _of(cache: Cache | StateCache) -> str:
    if isinstance(cache, StateCache):
        return f"the state of {cache.mechanism}"
    return f"a {type(cache).__name__}"
