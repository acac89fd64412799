"""How series are told apart: by colour, and without it by dash or shape.

The colours are those of Okabe and Ito (2008), which stay apart for colour-blind readers, darkened
or lightened until each has a contrast of at least 3 on white and on near black. A page may set
better ones for its background as `--s0` to `--s7`, and its inks as `--ink`, `--quiet` and `--rule`.
"""

from typing import Final

COLOURS: Final = (
    "#0072b2",
    "#d55e00",
    "#008f68",
    "#bf5f95",
    "#b07600",
    "#2f8fcb",
    "#857a00",
    "#6e7379",
)
DASHES: Final = ("", "7 3", "2 2.5", "10 3 2 3", "5 2 1 2", "13 3", "4 4", "1 4")
# Paths from the middle of a marker: a disc, a square, triangles, a diamond, crosses, a ring.
SHAPES: Final = (
    "m-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0 -7.2 0z",
    "m-3.2 -3.2h6.4v6.4h-6.4z",
    "m0 -4.2l4 7h-8z",
    "m0 -4.6l4.2 4.6l-4.2 4.6l-4.2 -4.6z",
    "m0 4.2l4 -7h-8z",
    "m-3.2 -3.2l6.4 6.4m0 -6.4l-6.4 6.4",
    "m-4.2 0h8.4m-4.2 -4.2v8.4",
    "m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0 -6.4 0m3 0h.4",
)

INK: Final = "var(--ink,currentColor)"
QUIET: Final = "var(--quiet,currentColor)"
RULE: Final = "var(--rule,#8886)"
PAPER: Final = "var(--paper,transparent)"


def colour(slot: int) -> str:
    """Return the colour of a slot, as a page sets it or else on its own."""
    return f"var(--s{slot},{COLOURS[slot]})"
