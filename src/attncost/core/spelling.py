"""How people spell sizes in one word: `width=256,ahead=8`, or `feature_map=softmax,causal=1`."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final, TypeAlias

from attncost.core.errors import ShapeError, UnknownName

# Takes the name of a parameter, what is written of it, and what it belongs to.
_Read: TypeAlias = Callable[[str, str, str], int | str]
# Beyond what 64 bits hold together with a length, and beyond what Python reads in a moment.
_MOST: Final = 10**15
_DIGITS: Final = 1000


def whole(text: str) -> int | None:
    """Return the whole number that a text is, or None.

    >>> whole("64"), whole("-3"), whole("--3"), whole("6.4")
    (64, -3, None, None)
    """
    digits = text.removeprefix("-")
    written = digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS
    return int(text) if written else None


def assignments(text: str, *, of: str) -> dict[str, int]:
    """Return the whole numbers that `text` assigns to names.

    Args:
        text: Assignments between commas; empty for none.
        of: What they belong to, for the error.

    Raises:
        ShapeError: If one is not `name=whole number`.

    >>> assignments("width=256,ahead=8", of="window")
    {'width': 256, 'ahead': 8}
    """
    return {name: _number(name, value, of) for name, value in _written(text, of).items()}


def parameters(text: str, kind: type, *, of: str) -> dict[str, int | str]:
    """Return what `text` assigns to fields of a dataclass: a word, 0 or 1, or a whole number.

    Args:
        text: Assignments between commas; empty for none.
        kind: The dataclass, whose fields of type `str` take words, and of type `bool` 0 and 1.
        of: What it is called, for the error.

    Raises:
        ShapeError: If a value is of another type than the field, or a field is given twice.
        UnknownName: If there is no such field.

    >>> from dataclasses import make_dataclass
    >>> kind = make_dataclass("Linear", [("feature_map", str), ("causal", bool)])
    >>> parameters("feature_map=softmax,causal=1", kind, of="linear")
    {'feature_map': 'softmax', 'causal': True}
    """
    taken: Any = kind  # a dataclass, which the type does not say
    kinds: dict[str, Any] = {field.name: field.type for field in fields(taken)}
    found: dict[str, int | str] = {}
    for name, value in _written(text, of).items():
        if name not in kinds:
            raise UnknownName(f"parameter of {of}", name, kinds)
        found[name] = _READ.get(kinds[name], _number)(name, value, of)
    return found


def _written(text: str, of: str) -> dict[str, str]:
    """Return the value of every name, as it is written."""
    found: dict[str, str] = {}
    for item in filter(None, text.split(",")):
        name, _, value = item.partition("=")
        if name in found:
            raise ShapeError(f"{name} of {of} is given twice, as {found[name]} and {value}.")
        found[name] = value
    return found


def _number(name: str, value: str, of: str) -> int:
    number = whole(value)
    if number is None:
        raise ShapeError(
            f"{name} of {of} must be a whole number, as in {of}:{name}=64, got {value!r}."
        )
    if abs(number) > _MOST:
        raise ShapeError(f"{name} of {of} must be at most {_MOST:,}, got {number}.")
    return number


def _truth(name: str, value: str, of: str) -> bool:
    if value not in ("0", "1"):
        raise ShapeError(f"{name} of {of} must be 0 or 1, as in {of}:{name}=1, got {value!r}.")
    return value == "1"


def _word(name: str, value: str, of: str) -> str:
    if not value:
        raise ShapeError(f"{name} of {of} must be a word, as in {of}:{name}=..., got nothing.")
    return value


# How a value of each type is read; of any other it is a whole number.
_READ: Final[dict[Any, _Read]] = {bool: _truth, str: _word}
