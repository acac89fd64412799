"""What a picture is made of: lines of text, and images."""

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, final

from numpy.typing import NDArray

Anchor: TypeAlias = Literal["start", "middle", "end"]
# Pixels of a PNG along one unit.
DOTS: Final = 2


@final
@dataclass(frozen=True, slots=True)
class Text:
    """A line of text.

    Attributes:
        x: Where its foot begins, lies in the middle or ends.
        y: Its foot.
        text: What it says.
        anchor: Which of these.
        upright: Whether it runs upwards.
        bold: Whether it is of what is marked.
        plain: What it says in a PNG, if not the same.
    """

    x: int
    y: int
    text: str
    anchor: Anchor = "start"
    upright: bool = False
    bold: bool = False
    plain: str = ""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Image:
    """Pixels, `DOTS` of them along a unit, and where they begin."""

    x: int
    y: int
    pixels: NDArray[Any]

    @property
    def size(self) -> tuple[int, int]:
        """Return width and height."""
        return self.pixels.shape[1] // DOTS, self.pixels.shape[0] // DOTS
