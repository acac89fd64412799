"""Whether something can take the place of attention: a pattern, or a mechanism that has code."""

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.mechanisms.interface import Mechanism, Priced
from attncost.mechanisms.spelling import not_run
from attncost.patterns.interface import Pattern


def attending(attention: object) -> Pattern | Mechanism:
    """Return a pattern or mechanism, and refuse anything else.

    Raises:
        ShapeError: If it is neither.
        UnsupportedOption: If it has a formula alone.
    """
    if isinstance(attention, Pattern | Mechanism):
        return attention
    if isinstance(attention, Priced):
        raise UnsupportedOption(not_run(attention))
    raise ShapeError(
        f"attention must be a pattern or mechanism such as attncost.Causal(), got {attention!r}; "
        "attncost.pattern(name) makes one by its name."
    )
