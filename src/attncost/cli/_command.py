"""The command that repeats what was done, for pages and runs to carry."""

import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def command(name: str, words: Sequence[object], options: Mapping[str, object]) -> str:
    """Return a command as people type it.

    Args:
        name: Of the subcommand.
        words: Its arguments; None is left out.
        options: By the names of the function's parameters; None and False are left out, True is a
            flag, and a list is given one by one.
    """
    parts = ["attncost", name, *(str(word) for word in words if word is not None)]
    for option, value in options.items():
        if value is None or value is False:
            continue
        for one in value if isinstance(value, list | tuple) else (value,):
            parts.append(f"--{option.replace('_', '-')}")
            parts += [] if one is True else [str(one)]
    return shlex.join(parts)


def changed(function: Callable[..., Any], options: Mapping[str, object]) -> dict[str, object]:
    """Return the options that differ from the function's defaults."""
    usual = inspect.signature(function).parameters
    return {name: value for name, value in options.items() if value != usual[name].default}
