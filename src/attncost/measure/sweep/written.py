"""What a run holds of a task, made again from JSON that somebody may have edited.

Each field must hold what its type says: Python would take 8.0 tokens, or a truth value for a
number, and fail somewhere else. Lists are the tuples that they were.
"""

from dataclasses import fields
from types import UnionType
from typing import Any, Final, TypeVar, cast, get_args, get_origin

from attncost.core.errors import ShapeError

# Beyond every number that a task has; what is larger does not fit in a float.
_MOST: Final = 1e30
# Characters of a wrong value that a message repeats.
_SHOWN: Final = 60

T = TypeVar("T")


def made(kind: type[T], row: object, *, of: str) -> T:
    """Return a dataclass with the fields that a JSON object holds.

    Args:
        kind: The dataclass.
        row: The object; what else it holds is passed over.
        of: Where it stands, for errors.

    Raises:
        ShapeError: If it is no object, or a field is missing or holds something else.
    """
    if not isinstance(row, dict):
        raise ShapeError(f"{of} must be an object of JSON, got {row!r:.{_SHOWN}}.")
    wanted = {one.name: one.type for one in fields(cast("Any", kind))}
    for name, hint in wanted.items():
        if name not in row:
            raise ShapeError(f"{of}.{name} must be {_said(hint)}, got none.")
        if not _fits(row[name], hint):
            raise ShapeError(f"{of}.{name} must be {_said(hint)}, got {row[name]!r:.{_SHOWN}}.")
    return kind(**{name: _tuple(row[name]) for name in wanted})


def _fits(value: Any, wanted: Any) -> bool:  # noqa: ANN401 -- JSON, and an annotation
    if isinstance(wanted, UnionType):
        return any(_fits(value, one) for one in get_args(wanted))
    if get_origin(wanted) is tuple:
        return isinstance(value, list) and all(_fits(one, get_args(wanted)[0]) for one in value)
    if wanted in (int, float):
        # NaN is not within either.
        return (type(value) is wanted or type(value) is int) and -_MOST < value < _MOST
    return type(value) is wanted


def _said(wanted: Any) -> str:  # noqa: ANN401 -- what an annotation is
    if isinstance(wanted, UnionType):
        return " or ".join(map(_said, get_args(wanted)))
    if get_origin(wanted) is tuple:
        return f"a list of {_WORDS[get_args(wanted)[0]][1]}"
    return _WORDS[wanted][0]


def _tuple(value: Any) -> Any:  # noqa: ANN401 -- whatever JSON holds
    return tuple(value) if isinstance(value, list) else value


_WORDS: Final[dict[Any, tuple[str, str]]] = {
    str: ("a text", "texts"),
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    type(None): ("null", "nulls"),
}
