"""Which lines of a file are texts."""

from pathlib import Path
from typing import Final

from attncost.core.errors import StorageError
from attncost.core.files import words

# Four million tokens: more than anybody waits for, and enough to judge any larger text by.
_MOST: Final = 1 << 24
_LINES: Final = 200_000
_GIVE: Final = "give a file with a sequence on each line."


def lines(path: Path) -> list[str]:
    """Return the lines of a text that are not blank.

    Raises:
        StorageError: If the file cannot be read as text, or has none.
    """
    return [line for line in every_line(path) if line.strip()]


def every_line(path: Path, *, give: str = _GIVE) -> list[str]:
    """Return the lines of a text, blank ones included.

    Args:
        path: The file.
        give: What to do if it holds no text.

    Raises:
        StorageError: If the file cannot be read as text, all of them are blank, or it has more than
            200,000.
    """
    text = words(path, most=_MOST, give=give.removesuffix("."))
    if "\0" in text:
        raise StorageError(f"{path} is no text, it holds zeros: {give}")
    # `splitlines` would end a line at a form feed, too, and no other tool does.
    found = text.removesuffix("\n").split("\n")
    if not any(map(str.strip, found)):
        raise StorageError(f"{path} holds no text: {give}")
    if len(found) > _LINES:
        raise StorageError(f"{path} has {len(found):,} lines, at most {_LINES:,} are read: {give}")
    return found
