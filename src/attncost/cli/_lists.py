"""Lists as people type them: with commas between."""


def numbers(text: str) -> tuple[int, ...]:
    """Read `64,128,256`."""
    from attncost.core.errors import ShapeError  # noqa: PLC0415 -- keep --help light

    items = [item.strip() for item in text.split(",")]
    for item in items:
        if not item.lstrip("-").isdecimal():
            raise ShapeError(f"lengths must be whole numbers, as in 64,128,256, got {item!r}.")
    return tuple(int(item) for item in items)


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
