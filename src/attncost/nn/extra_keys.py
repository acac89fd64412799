"""Keys that a `MultiheadAttention` adds behind those of a call, and the patterns that allow it."""

from torch import nn

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.mechanisms.interface import Priced
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern


def extra_keys(module: nn.MultiheadAttention) -> int:
    """Return how many keys follow those of a call."""
    return (module.bias_k is not None) + bool(module.add_zero_attn)


def check_pattern(module: nn.MultiheadAttention, pattern: object) -> None:
    """Say whether a module can read by a pattern.

    Raises:
        ShapeError: If it is none.
        UnsupportedOption: If the module adds keys, which stand nowhere, and it is not `Full`, or
            if it is a mechanism.
    """
    if isinstance(pattern, Priced):
        raise UnsupportedOption(
            f"{pattern} weighs no pair, and a MultiheadAttention returns weights and takes masks "
            "of pairs: build a layer with attncost.nn.Attention."
        )
    if not isinstance(pattern, Pattern):
        raise ShapeError(
            f"pattern must be a pattern such as attncost.Causal(), got {pattern!r}; "
            "attncost.pattern(name) makes one by its name."
        )
    if extra_keys(module) and not isinstance(pattern, Full):
        raise UnsupportedOption(
            "the keys of add_bias_kv and add_zero_attn have no position that a pattern could "
            f"read, got {pattern}: leave them out or take Full()."
        )
