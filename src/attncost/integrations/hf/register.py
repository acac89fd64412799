"""Our attention as an `attn_implementation` of transformers: the function and its mask function.

An attention function that is registered without its mask function silently loses causality,
padding, windows and packing; the two are registered here together or not at all.
"""

import re
from functools import partial
from typing import Any, Final

from attncost.core.errors import AttnCostError, ShapeError
from attncost.integrations.hf.attend import attend
from attncost.integrations.hf.masks import mask
from attncost.mechanisms.interface import Mechanism
from attncost.nn.attending import attending
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern

# The name under which `swap` lets layers that were not chosen compute what they always did.
EXACT: Final = "attncost"
_FULL: Final = Full()
_OURS: Final[dict[str, Pattern | Mechanism]] = {}


def register(name: str, attention: Pattern | Mechanism = _FULL) -> str:
    """Make a pattern or mechanism an `attn_implementation` of transformers, and return its name.

    Every layer then reads the pairs that the model's own mask allows and the pattern reads; with
    `Full()` that is exactly what the model computes itself. The name lasts as long as the process:
    a model that is loaded in another one needs it registered there first.

    >>> import attncost as ac
    >>> ac.hf.register("window256", ac.Window(256))
    'window256'

    Args:
        name: To be given to `from_pretrained(..., attn_implementation=name)` or
            `model.set_attn_implementation(name)`.
        attention: What every layer reads within the limits of its model.

    Raises:
        AttnCostError: If transformers is not there, or older than 5.24.
        ShapeError: If the name is taken or means something else to transformers.
        UnsupportedOption: If the mechanism has a formula and no code.
    """
    attention = attending(attention)
    functions, masks = interfaces()
    _check(name, attention, {*functions, *masks, "eager"})
    functions.register(name, partial(attend, usual=attention))
    masks.register(name, mask)
    _OURS[name] = attention
    return name


def ours(name: str | None) -> Pattern | Mechanism | None:
    """Return what was registered under a name, if anything was."""
    return None if name is None else _OURS.get(name)


def _check(name: str, attention: Pattern | Mechanism, taken: set[str]) -> None:
    if not name or "flash" in name or any(sign in name for sign in "/|:@"):
        raise ShapeError(
            f"name must be a plain word, got {name!r}: transformers reads 'flash', '/', '|', ':' "
            "and '@' in it as something else; call it 'window256', for example."
        )
    held = "is one of transformers" if name in taken else None
    held = f"is {_OURS[name]}" if name in _OURS else held
    held = f"is kept for {_FULL}" if name == EXACT else held
    if held is not None and attention != (_FULL if name == EXACT else _OURS.get(name)):
        raise ShapeError(f"the name {name!r} {held}: take another one for {attention}.")


def interfaces() -> tuple[Any, Any]:
    """Return where transformers keeps attention functions and mask functions.

    Raises:
        AttnCostError: If it is not there, or too old.
    """
    try:
        import transformers  # noqa: PLC0415 -- optional
    except ImportError as error:
        raise AttnCostError(
            "models of Hugging Face need transformers: pip install 'attncost[hf]'."
        ) from error
    if tuple(map(int, re.findall(r"\d+", transformers.__version__)[:2])) < (5, 24):
        raise AttnCostError(
            f"attention in models of Hugging Face needs transformers 5.24 or later, found "
            f"{transformers.__version__}: pip install 'attncost[hf]'."
        )
    from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS  # noqa: PLC0415
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS  # noqa: PLC0415

    return ALL_ATTENTION_FUNCTIONS, ALL_MASK_ATTENTION_FUNCTIONS
