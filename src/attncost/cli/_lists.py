"""Lists as people type them: with commas between."""

from attncost.core.errors import ShapeError
from attncost.core.spelling import whole


def numbers(text: str) -> tuple[int, ...]:
    """Read `64,128,256`."""
    found = []
    for item in text.split(","):
        number = whole(item.strip())
        if number is None:
            raise ShapeError(f"lengths must be whole numbers, as in 64,128,256, got {item!r}.")
        found.append(number)
    return tuple(found)


def names(text: str | None) -> list[str] | None:
    """Split at commas, but not at those inside `window:width=4,ahead=1`."""
    if text is None:
        return None
    items: list[str] = []
    for item in text.split(","):
        if items and "=" in item and ":" not in item:
            items[-1] += f",{item}"
        else:
            items.append(item.strip())
    return items
