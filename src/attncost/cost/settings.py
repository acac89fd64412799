"""The settings of a `config.json`, read with care: a size is a positive whole number or refused."""

from typing import Any, Final, TypeAlias

from attncost.core.errors import ShapeError

Settings: TypeAlias = dict[str, Any]

_GREATEST: Final = 1 << 24


def size(settings: Settings, key: str, *, model: str) -> int:
    """Return a size that must be there.

    Raises:
        ShapeError: If it is not, or is no positive whole number.
    """
    if key not in settings:
        raise ShapeError(f"the config.json of {model} lacks the size {key!r}.")
    found = settings[key]
    if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= _GREATEST:
        raise ShapeError(
            f"{key} of {model} must be a whole number from 1 to {_GREATEST:,}, got {found!r}."
        )
    return found


def optional_size(settings: Settings, key: str, *, model: str) -> int | None:
    """Return a size, or None if it is left out or null.

    Raises:
        ShapeError: If it is there and no positive whole number.
    """
    return None if settings.get(key) is None else size(settings, key, model=model)
