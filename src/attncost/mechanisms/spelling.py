"""How people spell a pattern or a mechanism: `window:width=256,ahead=8`."""

from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from attncost import mechanisms, patterns
from attncost.core.errors import ShapeError, UnknownName
from attncost.core.spelling import assignments
from attncost.mechanisms.interface import Mechanism
from attncost.patterns.interface import Pattern


def spelled(text: str) -> Pattern | Mechanism:
    """Return the pattern or mechanism that `text` spells: a name, then parameters after a colon.

    Raises:
        UnknownName: If there is none of this name, or it has no such parameter.
        ShapeError: If a parameter has no value, or one that is not a whole number, or if this one
            has to be made in Python.

    >>> spelled("window:width=256,ahead=8")
    Window(width=256, ahead=8)
    """
    name, _, rest = text.partition(":")
    if name not in known():
        if name in (*patterns.names(), *mechanisms.names()):
            raise ShapeError(f"{name} takes more than numbers: make it in Python.")
        raise UnknownName("pattern or mechanism", name, known())
    parameters = assignments(rest, of=name)
    make = patterns.pattern if name in patterns.names() else mechanisms.mechanism
    return make(name, **parameters)


def spelling(attention: Pattern | Mechanism) -> str:
    """Return how a pattern or mechanism is spelled, without parameters that are 0 or empty as ever.

    What has to be made in Python is written as there.

    >>> spelling(spelled("window"))
    'window:width=256'
    """
    name = type(attention).__module__.rpartition(".")[2]
    if name not in known():
        return str(attention)
    frozen: Any = attention  # a dataclass, which the interfaces do not say
    values = {f.name: getattr(frozen, f.name) for f in fields(frozen)}
    usual = {f.name: f.default for f in fields(frozen)}
    sizes = {key: value for key, value in values.items() if value or value != usual[key]}
    if not all(isinstance(value, int) for value in sizes.values()):
        return str(attention)
    parameters = ",".join(f"{key}={value}" for key, value in sizes.items())
    return f"{name}:{parameters}" if parameters else name


def known() -> tuple[str, ...]:
    """Return the names of all patterns, then of all mechanisms, that can be made of numbers."""
    return tuple(
        name for kind in (patterns, mechanisms) for name in kind.names() if _ready(kind.load(name))
    )


def _ready(kind: Any) -> bool:  # noqa: ANN401 -- a class, which seldom is no dataclass
    """Say whether every parameter has a default."""
    parameters = fields(kind) if is_dataclass(kind) else ()
    return all(f.default is not MISSING or f.default_factory is not MISSING for f in parameters)
