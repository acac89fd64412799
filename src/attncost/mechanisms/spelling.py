"""How people spell a pattern or a mechanism: `window:width=256,ahead=8`."""

from dataclasses import fields
from typing import Any

from attncost import mechanisms, patterns
from attncost.core.errors import UnknownName
from attncost.core.spelling import assignments
from attncost.mechanisms.interface import Mechanism
from attncost.patterns.interface import Pattern


def spelled(text: str) -> Pattern | Mechanism:
    """Return the pattern or mechanism that `text` spells: a name, then parameters after a colon.

    Raises:
        UnknownName: If there is none of this name, or it has no such parameter.
        ShapeError: If a parameter has no value, or one that is not a whole number.

    >>> spelled("window:width=256,ahead=8")
    Window(width=256, ahead=8)
    """
    name, _, rest = text.partition(":")
    if name not in known():
        raise UnknownName("pattern or mechanism", name, known())
    parameters = assignments(rest, of=name)
    make = patterns.pattern if name in patterns.names() else mechanisms.mechanism
    return make(name, **parameters)


def spelling(attention: Pattern | Mechanism) -> str:
    """Return how a pattern or mechanism is spelled; parameters that are 0 are left out.

    >>> spelling(spelled("window"))
    'window:width=256'
    """
    frozen: Any = attention  # a dataclass, which the interfaces do not say
    name = type(attention).__module__.rpartition(".")[2]
    sizes = {f.name: getattr(frozen, f.name) for f in fields(frozen)}
    parameters = ",".join(f"{key}={value}" for key, value in sizes.items() if value)
    return f"{name}:{parameters}" if parameters else name


def known() -> tuple[str, ...]:
    """Return the names of all patterns, then of all mechanisms."""
    return (*patterns.names(), *mechanisms.names())
