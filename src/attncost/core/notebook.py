"""How a result looks in a notebook: a table of its fields, with what each of them means.

A result is a dataclass, and its docstring says what its fields are; a class gets its table by the
line `_repr_html_ = as_html`. What a result holds in turn is folded. Everything is escaped, and
nothing brings a style, a script or a request along, so notebooks stay as light or dark as they are.
A long collection shows its first entries and says how many there are.
"""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any, Final

from attncost.core.errors import AttnCostError
from attncost.core.units import show

_MOST: Final = 20
_LONGEST: Final = 300
_ATTRIBUTE: Final = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)
# Units that a name says; other numbers are written out.
_UNITS: Final = {
    **dict.fromkeys(("useful", "executed", "dense"), "flops"),
    **dict.fromkeys(("bytes", "peak", "held"), "bytes"),
    "seconds": "seconds",
}


def as_html(result: object) -> str:
    """Return a result as a table for a notebook.

    >>> from attncost.core.cost import Cost
    >>> "<td>16 FLOPs</td>" in as_html(Cost.product(2, 2, 2))
    True

    Args:
        result: A dataclass.
    """
    kind = type(result)
    said = str(result) if "__str__" in vars(kind) else _sentence(kind)
    return f"<div><p><b>{kind.__name__}</b>: {_lines(said)}</p>{_fields(result)}</div>"


def _fields(result: object) -> str:
    meanings = _meanings(type(result))
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{_value(value, name)}</td>'
        f'<td style="text-align: left">{escape(meanings.get(name, ""))}</td></tr>'
        for name, value in _named(result)
    )
    return f"<table>{rows}</table>"


def _named(result: object) -> Iterator[tuple[str, Any]]:
    """Give fields, then what the class works out of them."""
    kind: Any = type(result)
    for field in fields(kind):
        if not field.name.startswith("_"):
            yield field.name, getattr(result, field.name)
    for name, member in vars(kind).items():
        if isinstance(member, property) and not name.startswith("_"):
            try:
                yield name, getattr(result, name)
            except AttnCostError as error:  # this one has none: it says why
                yield name, f"none: {error}"


def _meanings(kind: type) -> dict[str, str]:
    told = {
        name: " ".join(text.split())
        for name, text in _ATTRIBUTE.findall(inspect.getdoc(kind) or "")
    }
    for name, member in vars(kind).items():
        if isinstance(member, property):
            told[name] = _sentence(member)
    return told


def _sentence(told: object) -> str:
    return (inspect.getdoc(told) or "").partition("\n")[0]


def _value(value: Any, name: str = "") -> str:  # noqa: ANN401 -- whatever a result holds
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, int | float):
        return escape(_number(value, name))
    if is_dataclass(value) and not isinstance(value, type):
        return _folded(type(value).__name__, _fields(value))
    if isinstance(value, Mapping):
        return _of_pairs(list(value.items()))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _of_many(value)
    return _lines(_written(value))


def _written(value: Any) -> str:  # noqa: ANN401 -- whatever a result holds
    if hasattr(value, "free_symbols"):
        from attncost.core.formula import text  # noqa: PLC0415 -- numbers never need SymPy

        return text(value)
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        if value.shape == ():
            return _value(value.item())
        return f"{value.dtype} {tuple(value.shape)}"
    return str(value)


def _number(value: float, name: str) -> str:
    if name in _UNITS:
        return show(value, _UNITS[name])
    return f"{value:,}" if isinstance(value, int) else f"{value:.6g}"


def _of_pairs(pairs: Sequence[tuple[Any, Any]]) -> str:
    names = _columns([value for _, value in pairs])
    rows = (
        f'<tr><th scope="row">{_lines(str(key))}</th>{_cells(value, names, str(key))}</tr>'
        for key, value in pairs[:_MOST]
    )
    return _counted(len(pairs), (_heads("", *names) if names else "", *rows)) if pairs else "none"


def _of_many(values: Sequence[Any]) -> str:
    if all(isinstance(value, int | float | str) for value in values):
        more = ", ..." if len(values) > _MOST else ""
        return ", ".join(map(_value, values[:_MOST])) + more or "none"
    if all(isinstance(value, tuple) and list(map(type, value))[:1] == [str] for value in values):
        return _of_pairs([(name, rest[0] if len(rest) == 1 else rest) for name, *rest in values])
    names = _columns(values)
    rows = (f"<tr>{_cells(value, names)}</tr>" for value in values[:_MOST])
    return _counted(len(values), (_heads(*names) if names else "", *rows))


def _columns(values: Sequence[Any]) -> list[str]:
    """Return the fields of dataclasses of one kind, but for those that none of them fills."""
    kinds = set(map(type, values))
    if len(kinds) != 1 or not is_dataclass(values[0]):
        return []
    names = [field.name for field in fields(values[0])]
    return [name for name in names if any(getattr(value, name) != () for value in values)]


def _heads(*names: str) -> str:
    heads = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    return f"<tr>{heads}</tr>"


def _cells(value: Any, names: Sequence[str], name: str = "") -> str:  # noqa: ANN401 -- see above
    """Return a cell for each field of a dataclass and each part of a tuple, one for the rest."""
    if names:
        return "".join(f"<td>{_value(getattr(value, name), name)}</td>" for name in names)
    parts = value if isinstance(value, tuple) else (value,)
    return "".join(f"<td>{_value(part, name)}</td>" for part in parts)


def _counted(length: int, rows: Iterable[str]) -> str:
    title = f"{length:,}" if length <= _MOST else f"{length:,}, of which the first {_MOST}"
    return _folded(title, f"<table>{''.join(rows)}</table>")


def _folded(title: str, inside: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{inside}</details>"


def _lines(said: str) -> str:
    cut = said if len(said) <= _LONGEST else said[:_LONGEST] + "..."
    return escape(cut).replace("\n", "<br>")
