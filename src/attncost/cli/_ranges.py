"""Numbers of layers and heads as people type them: `0,3-5`."""

import re
from typing import Final

from attncost.core.errors import ShapeError

_ITEM: Final = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", re.ASCII)
_NUMBER: Final = re.compile(r"\s*-?\d", re.ASCII)
_FROM_END: Final = re.compile(r"\s*-\d{1,5}\s*", re.ASCII)
# No model has more layers, or more heads in one.
_MOST: Final = 1 << 16


def ranges(text: str, *, of: str) -> tuple[int, ...]:
    """Read `0,3-5` as 0, 3, 4, 5.

    Args:
        text: As it was typed.
        of: The option.

    Raises:
        ShapeError: If it is something else, or names nothing.

    >>> ranges("3-5,0,4", of="--layers")
    (0, 3, 4, 5)
    """
    found: set[int] = set()
    for item in text.split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise ShapeError(f"{of} must be numbers, as in 0,3-5, got {text!r}.")
        first = int(match[1])
        last = first if match[2] is None else int(match[2])
        if not first <= last < _MOST:
            raise ShapeError(
                f"{of} must be numbers that increase from 0, as in 0,3-5, got {text!r}."
            )
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def layer_choice(text: str | None) -> tuple[int, ...] | str | None:
    """Read numbers of layers, or a name with wildcards such as `decoder.*`; None for all.

    Args:
        text: As it was typed; a number by itself may count from the end.

    Raises:
        ShapeError: If it is empty, or begins with a number and is something else.

    >>> layer_choice("-1"), layer_choice("0-2,-1"), layer_choice("decoder.*")
    ((-1,), (-1, 0, 1, 2), 'decoder.*')
    """
    if text is None:
        return None
    if not text.strip():
        raise ShapeError(
            f"--layers must be numbers, as in 0,3-5, or a name, as in 'decoder.*', got {text!r}."
        )
    if not _NUMBER.match(text):
        return text
    items = text.split(",")
    ends = {int(item) for item in items if _FROM_END.fullmatch(item)}
    rest = [item for item in items if not _FROM_END.fullmatch(item)]
    return tuple(sorted({*ends, *(ranges(",".join(rest), of="--layers") if rest else ())}))
