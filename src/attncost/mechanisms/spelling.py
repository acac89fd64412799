"""How people spell an attention: `window:width=256,ahead=8`, `linear:feature_map=softmax,causal=1`.

Patterns and mechanisms can be run; a formula has a price alone. Names of the three are apart.
"""

from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from attncost import mechanisms, patterns
from attncost.core.errors import ShapeError, UnknownName, UnsupportedOption
from attncost.core.spelling import parameters
from attncost.mechanisms import formulas
from attncost.mechanisms.interface import Mechanism, Priced
from attncost.patterns.interface import Pattern


def spelled(text: str) -> Pattern | Priced:
    """Return what `text` spells, to be priced: a name, then parameters after a colon.

    Raises:
        UnknownName: If there is none of this name, or it has no such parameter.
        ShapeError: If a parameter has no value, or one of another type, or if this one has to be
            made in Python.

    >>> spelled("window:width=256,ahead=8")
    Window(width=256, ahead=8)
    """
    return _made(text, known(), "pattern, mechanism or formula")


def to_run(text: str) -> Pattern | Mechanism:
    """Return what `text` spells, to be run.

    Raises:
        UnknownName: As `spelled`.
        ShapeError: As `spelled`.
        UnsupportedOption: If it is a formula, which nothing here computes.
    """
    name = text.partition(":")[0]
    if name in formulas.names():
        raise UnsupportedOption(not_run(name))
    found = _made(text, runnable(), "pattern or mechanism")
    assert isinstance(found, Pattern | Mechanism)
    return found


def not_run(formula: Priced | str) -> str:
    """Return why a formula is refused where something is to be run, in one line.

    Args:
        formula: It, or its name.
    """
    name = formula if isinstance(formula, str) else _name(formula)
    return (
        f"{name} is priced and not run here: `attncost derive {name}` shows its cost; what runs is "
        f"a pattern or one of {', '.join(mechanisms.names())}."
    )


def spelling(attention: Pattern | Priced) -> str:
    """Return how an attention is spelled, without parameters that are 0 or empty as ever.

    What has to be made in Python is written as there.

    >>> spelling(spelled("window"))
    'window:width=256'
    """
    name = _name(attention)
    if name not in known():
        return str(attention)
    frozen: Any = attention  # a dataclass, which the interfaces do not say
    values = {f.name: getattr(frozen, f.name) for f in fields(frozen)}
    usual = {f.name: f.default for f in fields(frozen)}
    given = {key: value for key, value in values.items() if value or value != usual[key]}
    if not all(isinstance(value, int | str) for value in given.values()):
        return str(attention)
    written = ",".join(
        f"{key}={value if isinstance(value, str) else int(value)}" for key, value in given.items()
    )
    return f"{name}:{written}" if written else name


def known() -> tuple[str, ...]:
    """Return the names of all that can be priced and spelled: what can be run, then formulas."""
    return runnable() + _ready(formulas)


def runnable() -> tuple[str, ...]:
    """Return the names of all patterns, then of all mechanisms, that can be spelled."""
    return _ready(patterns) + _ready(mechanisms)


def _made(text: str, known: tuple[str, ...], kind: str) -> Pattern | Priced:
    name, _, rest = text.partition(":")
    homes = [home for home in (patterns, mechanisms, formulas) if name in home.names()]
    if name not in known:
        if homes:
            raise ShapeError(f"{name} takes more than numbers: make it in Python.")
        raise UnknownName(kind, name, known)
    one: Any = homes[0].load(name)
    made: Pattern | Priced = one(**parameters(rest, one, of=name))
    return made


def _name(attention: Pattern | Priced) -> str:
    return type(attention).__module__.rpartition(".")[2]


def _ready(home: Any) -> tuple[str, ...]:  # noqa: ANN401 -- one of three modules alike
    """Return the names of those of whose parameters each has a default."""
    return tuple(name for name in home.names() if _has_defaults(home.load(name)))


def _has_defaults(kind: Any) -> bool:  # noqa: ANN401 -- a class, which seldom is no dataclass
    given = fields(kind) if is_dataclass(kind) else ()
    return all(f.default is not MISSING or f.default_factory is not MISSING for f in given)
