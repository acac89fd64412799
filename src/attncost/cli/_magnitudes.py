"""Numbers as logs and papers print them: 312T, 312e12, 46.2%, 128k tokens."""

import re
from typing import Final

from attncost.core.errors import ShapeError

_PREFIXES: Final = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_TOKENS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20}
_NUMBER: Final = r"(\d+(?:\.\d+)?(?:[eE]\+?\d+)?)"


def magnitude(text: str, *, of: str) -> float:
    """Read a number with a prefix, and FLOP/s after it if somebody wrote so.

    >>> magnitude("312T", of="--peak"), magnitude("989.5 TFLOP/s", of="--peak")
    (312000000000000.0, 989500000000000.0)

    Raises:
        ShapeError: If it is none.
    """
    found = re.fullmatch(_NUMBER + r"\s*([kMGTPE]?)(?:FLOPS|FLOPs|FLOP/s)?", text.strip())
    if found is None:
        raise ShapeError(f"{of} must be a number such as 312T or 312e12, got {text!r}.")
    return float(found[1]) * _PREFIXES[found[2]]


def tokens(text: str, *, of: str) -> int:
    """Read a length; k is 1,024 and M 1,024 of these, as in the names of long contexts.

    >>> tokens("8k", of="--length"), tokens("131072", of="--length")
    (8192, 131072)

    Raises:
        ShapeError: If it is none.
    """
    found = re.fullmatch(r"(\d{1,12})\s*([km]?)", text.strip().lower(), re.ASCII)
    if found is None or not int(found[1]):
        raise ShapeError(
            f"{of} must be a number of tokens such as 4096 or 128k, of at most 12 digits, got "
            f"{text!r}."
        )
    return int(found[1]) * _TOKENS[found[2]]


def check_share(text: str, *, of: str) -> None:
    """Refuse what is no printed share.

    >>> check_share("46.2%", of="--claimed")

    Raises:
        ShapeError: If it is none between 0 and 1.
    """
    from attncost.cost.utilisation import printed

    if printed(text, of=of).value > 1:
        raise ShapeError(f"{of} must be a share such as 46.2% or 0.462, got {text!r}.")
