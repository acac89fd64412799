"""Lists as people type them: with commas between."""

from typing import Final

from attncost.core.errors import ShapeError
from attncost.core.spelling import whole

# Of one kind in a list: each is worked on by itself.
_MOST: Final = 256


def numbers(text: str) -> tuple[int, ...]:
    """Read `64,128,256`."""
    found = []
    for item in items(text, of="lengths"):
        number = whole(item.strip())
        if number is None:
            raise ShapeError(f"lengths must be whole numbers, as in 64,128,256, got {item!r}.")
        found.append(number)
    return tuple(found)


def items(text: str, *, of: str) -> list[str]:
    """Split at commas, as long as that many can be worked on.

    Args:
        text: As it was typed.
        of: What they are.

    Raises:
        ShapeError: If they are more.
    """
    found = text.split(",")
    if len(found) > _MOST:
        raise ShapeError(f"{of} must be at most {_MOST}, got {len(found):,}: give fewer.")
    return found


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
