"""Which attentions are tried in a model if nobody names any: cheaper ones of each kind.

An encoder is given windows on both sides, a window beside its first token, blocks and two
mechanisms; a model that writes is given windows, a window beside its first tokens, on which such
models rest mass that they need not (Xiao et al. 2023, arXiv:2309.17453), strides and a mechanism.
"""

from typing import Final

from attncost.mechanisms.interface import Mechanism
from attncost.mechanisms.linear import Linear
from attncost.patterns.bigbird import BigBird
from attncost.patterns.interface import Pattern
from attncost.patterns.longformer import Longformer
from attncost.patterns.strided import Strided
from attncost.patterns.window import Window

_WIDTHS: Final = (8, 16, 32, 64, 128, 256, 512, 1024)
_WINDOWS: Final = 4
_SINKS: Final = 4


def usual(length: int, *, ahead: bool) -> tuple[Pattern | Mechanism, ...]:
    """Return what is tried on texts of at most so many tokens.

    Args:
        length: Tokens.
        ahead: Whether the model reads ahead.
    """
    reach = [w for w in _WIDTHS if w < length * (0.5 if ahead else 1)][-_WINDOWS:] or [1]
    narrow = reach[min(1, len(reach) - 1)]
    if ahead:
        block = max(1, length // 32)
        return (
            *(Window(2 * w + 1, ahead=w) for w in reach),
            Longformer(2 * narrow + 1, tokens=1),
            BigBird(block=block, longest=max(block, length)),
            Linear(),
        )
    return (
        *(Window(w) for w in reach),
        *(Longformer(w, tokens=_SINKS, ahead=0) for w in reach[:2]),
        Strided(max(2, round(length**0.5))),
        Linear(causal=True),
    )


def few(length: int, *, ahead: bool) -> tuple[Pattern, ...]:
    """Return what a report has time for: a window, one beside the first tokens, and one more.

    Args:
        length: Tokens.
        ahead: Whether the model reads ahead.
    """
    near = max(1, length // 16)
    if ahead:
        both = Window(2 * near + 1, ahead=near), Longformer(2 * near + 1, tokens=1)
        return *both, BigBird(block=max(1, length // 32), longest=length)
    return Window(near), Longformer(near, tokens=_SINKS, ahead=0), Window(max(1, length // 4))
