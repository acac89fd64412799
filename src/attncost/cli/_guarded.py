"""What holds around every command: it writes over nothing that it reads, and ends with its reader.

Which options write is known by their names alone, so a new one has to take one of these names.
"""

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeVar

from attncost.cli._exit import Closed
from attncost.core.errors import ShapeError

_P = ParamSpec("_P")
_R = TypeVar("_R")

# Parameters whose file is written; every other one that names a file is read.
WRITTEN: Final = ("output", "svg", "png", "chart", "trace")
_BOTH: Final = ("lock", "folder")  # read, and then written anew


def guarded(command: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a command that refuses to write over a file that it reads.

    Where nobody reads its output any more it raises Closed, for typer would end with 1, a "no".

    Args:
        command: The function of a subcommand.
    """
    kept = inspect.signature(command)

    @wraps(command)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        given = kept.bind(*args, **kwargs).arguments
        read = [path for name, one in given.items() if name not in WRITTEN for path in _files(one)]
        for name in (*WRITTEN, *_BOTH):
            others = [one for one in read if name in WRITTEN or one is not given.get(name)]
            for output in _files(given.get(name)):
                _check_apart(output, others)
        try:
            return command(*args, **kwargs)
        except BrokenPipeError as error:
            raise Closed from error

    return run


def _files(given: Any) -> Iterator[Path]:  # noqa: ANN401 -- whatever an option takes
    """Give the files that an option names; a model may be one, and its folder has one."""
    if isinstance(given, list | tuple):
        for one in given:
            yield from _files(one)
    elif isinstance(given, Path):
        yield given
    elif isinstance(given, str) and given:
        yield from (Path(given), Path(given, "config.json"))


def _check_apart(output: Path, read: list[Path]) -> None:
    for other in read:
        if other is not output and _same(output, other):
            raise ShapeError(
                f"{output} is read and would be written over: choose another file to write."
            )


def _same(output: Path, other: Path) -> bool:
    try:
        return output.samefile(other)
    except (OSError, ValueError):  # one of them is not there, or no file can be
        return False
