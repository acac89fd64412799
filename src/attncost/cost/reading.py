"""From a `config.json`, or the name of a preset, to a `Configuration`: no weights, no network.

What no family understands is refused by name, so that no formula is applied to a model that it does
not describe.
"""

from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

from attncost.core.errors import ShapeError, UnknownName
from attncost.cost import families
from attncost.cost.configuration import Configuration
from attncost.cost.families.interface import Family
from attncost.cost.families.said import Said
from attncost.cost.settings import Settings, preset_settings, read_settings, refuse_own_code

_OWN_CODE: Final = "It comes with code of its own, which was not read."


def read_config(path: str | Path, *, name: str | None = None) -> Configuration:
    """Read a model's sizes from a folder of Hugging Face, or its `config.json`.

    Args:
        path: The folder or the file.
        name: What to call the model; the name of the folder, if left out.

    Raises:
        ShapeError: If there is no such file, it lacks a size, or it needs code of its own.
        UnknownName: If its architecture is not understood.
    """
    path = Path(path)
    settings = read_settings(path)
    home = path if path.is_dir() else path.parent
    return understood(settings, name=name or home.resolve().name, source="its config.json")


def presets() -> tuple[str, ...]:
    """Return the names of the models whose published sizes come with this package."""
    folder = files(__package__) / "presets"
    return tuple(sorted(Path(file.name).stem for file in folder.iterdir()))


def preset(name: str) -> Configuration:
    """Return a model by the name of its preset.

    Raises:
        UnknownName: If there is no such preset.
    """
    if name not in presets():
        raise UnknownName("preset", name, presets())
    settings = preset_settings(name)
    return understood(settings, name=name, source=settings["source"])


def understood(settings: Settings, *, name: str, source: str) -> Configuration:
    """Return what settings say.

    Args:
        settings: As a `config.json` has them.
        name: What to call the model.
        source: Where they are from.

    Raises:
        ShapeError: If a size is missing or impossible, or the model needs code of its own.
        UnknownName: If no family understands its architecture.
    """
    kind = str(settings.get("model_type", ""))
    if kind not in _families():
        refuse_own_code(settings, model=name)
        if not kind:
            raise ShapeError(
                f"{name} names no model_type: its config.json must have one, such as 'llama'."
            )
        raise UnknownName("understood model_type", kind, _families())
    family = _families()[kind]
    found = family.read(Said({**family.kinds[kind], **settings}, name, source))
    if "auto_map" not in settings:
        return found
    return replace(found, notes=(*found.notes, _OWN_CODE))


@cache
def _families() -> dict[str, Family]:
    found = (families.load(name)() for name in families.names())
    return {kind: family for family in found for kind in family.kinds}
