"""What MODEL names where its sizes are enough: no module is made, no weight is read.

`demo` is MiniLM; `layer:d_model=512,heads=8` one layer of attention; a folder or a `config.json` a
model of Hugging Face; a preset, published sizes; a name with a slash, a model in the local cache of
Hugging Face.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from attncost.core.errors import ShapeError, UnknownName, UnsupportedOption
from attncost.core.spelling import assignments
from attncost.cost.block import BlockSizes
from attncost.cost.configuration import Configuration
from attncost.cost.reading import preset, presets, read_config
from attncost.integrations.architecture import cached
from attncost.integrations.pretrained import demo_folder
from attncost.patterns.full import Full

DEMO: Final = "demo"
LAYER: Final = "layer"

_WIDEST: Final = 1 << 16  # a layer of that width has 64 GiB of weights
# Tokens of a call, or sequences; longer ones are priced by formula alone.
_LONGEST: Final = 1 << 24


@final
@dataclass(frozen=True, slots=True)
class Sized:
    """A model by its sizes.

    Attributes:
        name: As it was typed, but for a layer, which has one name, and without `/` at its end.
        configuration: Its sizes.
        path: The folder or file that says them; None for a layer or a preset.
    """

    name: str
    configuration: Configuration
    path: Path | None = None


def sized(text: str) -> Sized:
    """Return what `text` names.

    Raises:
        ShapeError: If it names sizes that cannot be read.
        UnknownName: If it names nothing, or an architecture that no family understands.
        UnsupportedOption: If it names a function, which has no sizes.
    """
    if text == DEMO:
        return _folder(demo_folder(), name=DEMO, model="MiniLM-L6")
    if text.partition(":")[0] == LAYER:
        name, block = layer_sizes(text)
        return Sized(name, Configuration.alike("this layer", block, Full()))
    if text in presets():
        return Sized(text, preset(text))
    if text.strip() and Path(text).exists():
        return _folder(Path(text), name=_path_name(Path(text)))
    if is_function(text):
        raise UnsupportedOption(
            f"{text} names a function, and sizes are needed: give a folder, a config.json, a "
            "preset or a layer such as layer:d_model=512,heads=8."
        )
    known = (DEMO, "layer:d_model=512,heads=8", *presets())
    path = cached(text)
    if path is None:
        raise UnknownName("model, folder or preset", text, known)
    return _folder(path, name=text, model=text)


def is_function(text: str) -> bool:
    """Say whether a text names a function, which says no sizes.

    >>> is_function("package.module:factory"), is_function("layer:d_model=64")
    (True, False)
    """
    return ":" in text and text.partition(":")[0] != LAYER and not Path(text).exists()


def layer_sizes(text: str) -> tuple[str, BlockSizes]:
    """Return the sizes of a layer, and the one name that it has however it was typed.

    Raises:
        ShapeError: If they are impossible.
        UnknownName: If it has no such size.

    >>> layer_sizes("layer:heads=4")[0]
    'layer:d_model=512,heads=4'
    """
    sizes = {"d_model": 512, "heads": 8} | assignments(text.partition(":")[2], of=LAYER)
    for name in sizes.keys() - {"d_model", "heads"}:
        raise UnknownName("size of a layer", name, ("d_model", "heads"))
    for name, size in sizes.items():
        if not 1 <= size <= _WIDEST:
            raise ShapeError(f"{name} of layer must lie between 1 and {_WIDEST:,}, got {size}.")
    d, h = sizes["d_model"], sizes["heads"]
    return f"{LAYER}:d_model={d},heads={h}", BlockSizes(d_model=d, heads=h)


def check_size(name: str, size: int) -> None:
    """Refuse a size of a call that no tensor has, or that is none.

    Args:
        name: What it is called: a length or a batch.
        size: It.

    Raises:
        ShapeError: If it is one.
    """
    if size < 1:
        raise ShapeError(f"{name} must be at least 1, got {size}.")
    if size > _LONGEST:
        raise ShapeError(f"{name} must be at most {_LONGEST:,}, got {size}.")


def _path_name(path: Path) -> str:
    """Return what names this path again, and nothing else that is called so."""
    name = str(path)
    taken = name in (DEMO, *presets()) or name.partition(":")[0] == LAYER
    return f"./{name}" if taken else name


def _folder(path: Path, *, name: str, model: str | None = None) -> Sized:
    return Sized(name, read_config(path, name=model), path)
