"""How people spell a pattern or a mechanism: `window:width=256,ahead=8`."""

from attncost import mechanisms, patterns
from attncost.core.errors import ShapeError, UnknownName
from attncost.mechanisms.interface import Mechanism
from attncost.patterns.interface import Pattern


def spelled(text: str) -> Pattern | Mechanism:
    """Return the pattern or mechanism that `text` spells: a name, then parameters after a colon.

    Raises:
        UnknownName: If there is none of this name, or it has no such parameter.
        ShapeError: If a parameter has no value, or one that is not a whole number.
    """
    name, _, rest = text.partition(":")
    if name not in known():
        raise UnknownName("pattern or mechanism", name, known())
    parameters = {}
    for item in filter(None, rest.split(",")):
        key, _, value = item.partition("=")
        if not value.lstrip("-").isdecimal():
            raise ShapeError(
                f"{key} of {name} must be a whole number, as in {name}:{key}=64, got {value!r}."
            )
        parameters[key] = int(value)
    make = patterns.pattern if name in patterns.names() else mechanisms.mechanism
    return make(name, **parameters)


def known() -> tuple[str, ...]:
    """Return the names of all patterns, then of all mechanisms."""
    return (*patterns.names(), *mechanisms.names())
