"""A word in a table for a terminal that is folded after commas: no name of a dial is cut in two.

What has no comma, or is still too long between two, is folded wherever the line ends.
"""

import re
from dataclasses import dataclass
from typing import final

from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.text import Text

_AFTER_A_COMMA = re.compile(r"(?<=,)(?=\S)")


@final
@dataclass(frozen=True, slots=True)
class Wrapped:
    """A cell, as rich draws it.

    Attributes:
        word: What it says.
    """

    word: str

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> list[Text]:
        return [Text(line, overflow="fold") for line in lines(self.word, options.max_width)]

    def __rich_measure__(self, _console: Console, options: ConsoleOptions) -> Measurement:
        longest = max(map(len, _AFTER_A_COMMA.split(self.word)))
        return Measurement(longest, len(self.word)).with_maximum(options.max_width)


def lines(word: str, width: int) -> list[str]:
    """Return as much of a word in each line as fits up to a comma.

    >>> lines("longformer:width=513,tokens=16,ahead=256", 25)
    ['longformer:width=513,', 'tokens=16,ahead=256']
    """
    found = [""]
    for piece in _AFTER_A_COMMA.split(word):
        if found[-1] and len(found[-1]) + len(piece) > width:
            found.append("")
        found[-1] += piece
    return found
