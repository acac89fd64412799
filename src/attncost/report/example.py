"""The text that a report measures padding on if nobody gives one."""

from importlib.resources import files
from pathlib import Path
from typing import Final

from attncost.core.errors import StorageError

_NAME: Final = "pride_and_prejudice.txt"


def example_text() -> Path:
    """Return the path of the text: in the package, or in the repository it is developed in."""
    package = Path(str(files("attncost")))
    for place in (package / "examples", *(p / "examples" / "data" for p in package.parents[:2])):
        if (place / _NAME).is_file():
            return place / _NAME
    raise StorageError(f"{_NAME} is missing from this installation: give --text FILE.")


def lines(path: Path) -> list[str]:
    """Return the lines of a text that are not empty.

    Raises:
        StorageError: If the file cannot be read as text, or has none.
    """
    try:
        found = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StorageError(
            f"{path} cannot be read as UTF-8 text ({reason}): give a file with a sequence on each "
            "line."
        ) from error
    if not found:
        raise StorageError(f"{path} holds no text: give a file with a sequence on each line.")
    return found
