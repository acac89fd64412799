"""How people spell sizes in one word: `width=256,ahead=8`."""

from attncost.core.errors import ShapeError


def whole(text: str) -> int | None:
    """Return the whole number that a text is, or None.

    >>> whole("64"), whole("-3"), whole("--3"), whole("6.4")
    (64, -3, None, None)
    """
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdecimal() else None


def assignments(text: str, *, of: str) -> dict[str, int]:
    """Return the whole numbers that `text` assigns to names.

    Args:
        text: Assignments between commas; empty for none.
        of: What they belong to, for the error.

    Raises:
        ShapeError: If one is not `name=whole number`.

    >>> assignments("width=256,ahead=8", of="window")
    {'width': 256, 'ahead': 8}
    """
    found: dict[str, int] = {}
    for item in filter(None, text.split(",")):
        name, _, value = item.partition("=")
        number = whole(value)
        if number is None:
            raise ShapeError(
                f"{name} of {of} must be a whole number, as in {of}:{name}=64, got {value!r}."
            )
        if name in found:
            raise ShapeError(f"{name} of {of} is given twice, as {found[name]} and {number}.")
        found[name] = number
    return found
