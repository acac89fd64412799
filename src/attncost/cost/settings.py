"""The settings of a `config.json`, read with care: a size is a positive whole number or refused."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, TypeAlias

from attncost.core.errors import ShapeError
from attncost.core.files import words

Settings: TypeAlias = dict[str, Any]

_GREATEST: Final = 1 << 24
# Bytes of a config.json; one with the names of 20,000 classes has one million.
_LONGEST: Final = 1 << 24


def read_settings(path: Path) -> Settings:
    """Read the settings of a folder of Hugging Face, or of its `config.json`.

    Raises:
        ShapeError: If there is no such file, or it holds something else.
        StorageError: If it cannot be read as text.
    """
    file = path / "config.json" if path.is_dir() else path
    if not file.is_file():
        raise ShapeError(
            f"{path} has no config.json: expected the folder of a Hugging Face model, or that file."
        )
    text = words(file, most=_LONGEST, give="give the folder of a Hugging Face model, or that file")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ShapeError(f"{file} is not JSON: {error}.") from error
    if not isinstance(found, dict):
        raise ShapeError(f"{file} must hold an object of settings, got {type(found).__name__}.")
    return found


def preset_settings(name: str) -> Settings:
    """Return the settings of a preset that there is, and under `source` where they are from."""
    text = (files(__package__) / "presets" / f"{name}.json").read_text(encoding="utf-8")
    found: Settings = json.loads(text)
    return found


def refuse_own_code(settings: Settings, *, model: str) -> None:
    """Refuse a model that comes with code of its own.

    Raises:
        ShapeError: If it does.
    """
    if "auto_map" in settings:
        named = settings["auto_map"]
        classes = ", ".join(sorted(named)) if isinstance(named, dict) else "auto_map"
        raise ShapeError(
            f"{model} needs code of its own ({classes}), which is never run: give a model whose "
            "architecture comes with transformers."
        )


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
