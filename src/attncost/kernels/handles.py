"""Patterns as text and numbers, so that an operation of PyTorch can take them.

A pattern is taken apart into its whole numbers, which may be symbols while a graph is traced, and
the text of what is left: the names of its classes, with `...` where a number was. A graph holds the
text, so equal patterns share one, and an exported program means the same in another process.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import fields
from functools import lru_cache
from importlib import import_module
from typing import Any, Final

import torch

from attncost.core.errors import UnsupportedOption
from attncost.patterns.custom import Custom
from attncost.patterns.interface import Pattern

# Classes that no import finds, such as those of a notebook's cell that was run again.
_UNFOUND: Final[dict[str, type[Pattern]]] = {}


def apart(pattern: Pattern) -> tuple[str, list[int]]:
    """Return the text of a pattern and its numbers, in order.

    Raises:
        UnsupportedOption: If a function would be exported, which has no text.
    """
    numbers: list[int] = []
    return _text(pattern, numbers), numbers


@lru_cache(maxsize=256)
def whole(text: str, numbers: tuple[int, ...]) -> Pattern:
    """Return the pattern that was taken apart."""
    left = iter(numbers)
    pattern: Pattern = _made(ast.literal_eval(text), left)
    assert next(left, None) is None, f"{text} has fewer numbers than {numbers}"
    return pattern


def _text(value: Any, numbers: list[int]) -> str:  # noqa: ANN401 -- a field may be anything
    if isinstance(value, Custom):
        if _exporting():
            raise UnsupportedOption("a Custom pattern is a function and cannot be exported.")
        numbers.append(value.number)
        return "'custom'"
    if isinstance(value, Pattern):
        parts = [f"'{_name(type(value))}'"]
        parts += [_text(getattr(value, field.name), numbers) for field in fields(value)]  # type: ignore[arg-type]
        return f"[{','.join(parts)}]"
    if isinstance(value, tuple):
        return f"({''.join([_text(one, numbers) + ',' for one in value])})"
    if isinstance(value, int) and not isinstance(value, bool):
        numbers.append(value)
        return "..."
    return f"{value!r}"


def _made(value: Any, numbers: Iterator[int]) -> Any:  # noqa: ANN401 -- a field may be anything
    if value == "custom":
        return Custom.numbered(next(numbers))
    if isinstance(value, list):
        name, *rest = value
        return _kind(name)(*(_made(one, numbers) for one in rest))
    if isinstance(value, tuple):
        return tuple(_made(one, numbers) for one in value)
    return next(numbers) if value is ... else value


# A constant, because the compiler of PyTorch 2.11 takes the answer for yes.
@torch._dynamo.assume_constant_result  # type: ignore[untyped-decorator]
def _exporting() -> bool:
    return torch.compiler.is_exporting()


@torch._dynamo.assume_constant_result  # type: ignore[untyped-decorator]
def _name(kind: type[Pattern]) -> str:
    name = f"{kind.__module__}:{kind.__qualname__}"
    if _found(name) is kind:
        return name
    if torch.compiler.is_exporting():
        raise UnsupportedOption(f"{name} cannot be exported: no import finds it.")
    name = f"{name}#{id(kind)}"
    _UNFOUND[name] = kind
    return name


def _kind(name: str) -> type[Pattern]:
    return _UNFOUND[name] if name in _UNFOUND else _found(name)


def _found(name: str) -> Any:  # noqa: ANN401 -- whatever has that name
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module) or import_module(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found
