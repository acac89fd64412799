"""How people spell sizes in one word: `width=256,ahead=8`."""

from attncost.core.errors import ShapeError


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
    found = {}
    for item in filter(None, text.split(",")):
        name, _, value = item.partition("=")
        if not value.lstrip("-").isdecimal():
            raise ShapeError(
                f"{name} of {of} must be a whole number, as in {of}:{name}=64, got {value!r}."
            )
        found[name] = int(value)
    return found
