"""Where the text of the examples is, which the package brings along."""

from importlib.resources import files
from pathlib import Path
from typing import Final

from attncost.core.errors import StorageError

_NAME: Final = "pride_and_prejudice.txt"


def example_text() -> Path:
    """Return the path of the text: in the package, or in the repository it is developed in.

    Raises:
        StorageError: If it is in neither.
    """
    package = Path(str(files("attncost")))
    for place in (package / "examples", *(p / "examples" / "data" for p in package.parents[:2])):
        if (place / _NAME).is_file():
            return place / _NAME
    raise StorageError(f"{_NAME} is missing from this installation: install attncost again.")
