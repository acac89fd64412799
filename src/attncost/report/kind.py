"""What can be had of an attention: exact, approximate, or its price alone."""

from typing import Final

from attncost.mechanisms.interface import Mechanism, Priced
from attncost.patterns.interface import Pattern

FORMULA_ONLY: Final = "formula only"


def kind(attention: Pattern | Priced) -> str:
    """Return it in a word or two.

    >>> from attncost.mechanisms.spelling import spelled
    >>> [kind(spelled(name)) for name in ("causal", "linformer", "nystrom")]
    ['exact', 'approximate', 'formula only']
    """
    if isinstance(attention, Pattern):
        return "exact"
    return "approximate" if isinstance(attention, Mechanism) else FORMULA_ONLY
