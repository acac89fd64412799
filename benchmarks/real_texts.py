"""Texts of real lengths, from packages of Debian: sayings and entries of a dictionary.

    apt-get install fortunes dict-foldoc

Both are skewed as texts are: many short ones, a few that are ten times as long.
"""

import gzip
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

_SAYINGS: Final = Path("/usr/share/games/fortunes")
_ENTRIES: Final = Path("/usr/share/dictd/foldoc.dict.dz")
_LEAST: Final = 20  # characters; shorter lines of the dictionary are no entries


def missing() -> dict[str, str]:
    """Return which texts are not installed, and what to do about each."""
    where = {"fortunes": (_SAYINGS, "fortunes"), "foldoc": (_ENTRIES, "dict-foldoc")}
    return {
        name: f"{path} is not there: apt-get install {package}."
        for name, (path, package) in where.items()
        if not path.exists()
    }


def texts(name: str, count: int, *, seed: int = 0) -> list[str]:
    """Return so many texts drawn at random.

    Args:
        name: `fortunes` or `foldoc`.
        count: How many.
        seed: Of the draw.
    """
    found = SOURCES[name]()
    random.Random(seed).shuffle(found)
    return found[:count]


def _sayings() -> list[str]:
    files = sorted(path for path in _SAYINGS.iterdir() if not path.suffix and path.is_file())
    return [
        text.strip()
        for path in files
        if path.name != "ascii-art"
        for text in re.split(r"\n%\n", path.read_text(encoding="utf-8", errors="replace"))
        if text.strip()
    ]


def _entries() -> list[str]:
    with gzip.open(_ENTRIES, "rt", encoding="utf-8", errors="replace") as file:
        parts = re.split(r"\n(?=\S)", file.read())
    return [part.strip() for part in parts if len(part.strip()) > _LEAST]


SOURCES: Final[dict[str, Callable[[], list[str]]]] = {"fortunes": _sayings, "foldoc": _entries}
