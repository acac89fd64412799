"""How much room text takes, without a font at hand.

    width <= sum of the widths of its letters in DejaVu Sans, among the widest of the usual fonts

An upper bound rather than a measurement: most fonts leave some of the room empty, none of those
that browsers choose for `system-ui` runs over it.
"""

from typing import Final

SIZE: Final = 13
LINE: Final = 17

_NARROW: Final = frozenset("fijlrtI .,:;'|()[]!/·²³-")
_WIDE: Final = frozenset("mwMW%@=+<>≤≥\u00d7→\u2013—…")


def width(text: str) -> float:
    """Return the most units that a line of text takes at `SIZE`."""
    return SIZE * sum(map(_letter, text))


def wrapped(text: str, room: float) -> tuple[str, ...]:
    """Break text into lines that fit the room: between words, and inside one only if it must be.

    >>> wrapped("softmax(scores) of every head", 140)
    ('softmax(scores) of', 'every head')
    """
    lines = [""]
    for word in text.split():
        for piece in _pieces(word, room):
            longer = f"{lines[-1]} {piece}".strip()
            if width(longer) <= room:
                lines[-1] = longer
            else:
                lines.append(piece)
    return tuple(lines)


def _pieces(word: str, room: float) -> list[str]:
    pieces = [""]
    for letter in word:
        if pieces[-1] and width(pieces[-1] + letter) > room:
            pieces.append("")
        pieces[-1] += letter
    return pieces


def _letter(letter: str) -> float:
    if letter in _NARROW:
        return 0.42
    if letter in _WIDE or letter > "\u2e7f":
        return 1.02
    return 0.79 if letter.isupper() else 0.645
