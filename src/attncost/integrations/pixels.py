"""An image as a model of Hugging Face reads it, by the settings of its image processor.

transformers wants Pillow for any image processor; here PyTorch resizes, crops and normalises, as
`preprocessor_config.json` says, and Pillow is asked to open files of images alone. It resizes with
antialiasing, as Pillow does: pixels differ from Pillow's by their rounding.
"""

import json
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor
from torch.nn.functional import interpolate

from attncost.core.errors import AttnCostError, ShapeError, StorageError

_SETTINGS: Final = "preprocessor_config.json"
# Numbers of `PIL.Image.Resampling`.
_WAYS: Final = {0: "nearest-exact", 2: "bilinear", 3: "bicubic"}
_HALF: Final = (0.5, 0.5, 0.5)
_ARRAY: Final = "expected an array of uint8 of height x width x 3"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Pixels:
    """An image.

    Attributes:
        shown: What the model sees of it, as people see it.
        values: The same as the model takes it.
    """

    shown: UInt8[Tensor, "h w 3"]
    values: Float[Tensor, "1 3 h w"]


def pixels(folder: Path, image: Path) -> Pixels:
    """Read an image for a model.

    Args:
        folder: Where the settings of its image processor lie.
        image: A `.npy` file with an array (height, width, 3) of uint8, or what Pillow opens.

    Raises:
        AttnCostError: If Pillow is missing and needed.
        ShapeError: If the array is of another shape, or the processor does something else.
        StorageError: If a file cannot be read.
    """
    said = _settings(folder)
    shown = _prepared(_opened(image), said)
    scaled = shown.to(torch.float32) * float(said.get("rescale_factor", 1 / 255))
    if said.get("do_normalize", True):
        mean, std = (torch.tensor(said.get(f"image_{key}", _HALF)) for key in ("mean", "std"))
        scaled = (scaled - mean) / std
    return Pixels(shown, scaled.permute(2, 0, 1)[None].contiguous())


def _settings(folder: Path) -> dict[str, Any]:
    file = folder / _SETTINGS
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StorageError(
            f"{folder} has no {_SETTINGS} that can be read: give the folder of a model with its "
            "image processor."
        ) from error
    if not isinstance(found, dict):
        raise StorageError(f"{file} must hold an object of settings, got {type(found).__name__}.")
    return found


def _opened(image: Path) -> UInt8[Tensor, "h w 3"]:
    try:
        found = np.load(image, allow_pickle=False) if image.suffix == ".npy" else _decoded(image)
    except (OSError, ValueError, EOFError) as error:
        reason = str(getattr(error, "strerror", None) or error).splitlines()[0]
        raise StorageError(
            f"{image} cannot be read as an image ({reason}): give a .npy array of "
            "height x width x 3 bytes, or what Pillow opens."
        ) from error
    if not isinstance(found, np.ndarray):
        raise ShapeError(f"{image}: {_ARRAY}, got an archive of arrays.")
    if found.dtype != np.uint8 or found.ndim != 3 or found.shape[2] != 3 or not found.size:
        got = f"{found.dtype} of {' x '.join(map(str, found.shape))}"
        raise ShapeError(f"{image}: {_ARRAY}, got {got}.")
    return torch.from_numpy(np.ascontiguousarray(found))


def _decoded(image: Path) -> Any:  # noqa: ANN401 -- theirs is untyped
    try:
        pillow = import_module("PIL.Image")
    except ImportError as error:
        raise AttnCostError(
            f"{image.name} is opened by Pillow: pip install pillow, or give a .npy file with an "
            "array of uint8 of height x width x 3."
        ) from error
    with pillow.open(image) as opened:
        return np.asarray(opened.convert("RGB"))


def _prepared(image: UInt8[Tensor, "h w 3"], said: dict[str, Any]) -> UInt8[Tensor, "H W 3"]:
    if said.get("do_resize", True):
        image = _resized(image, _size(said.get("size"), image), said.get("resample", 2))
    if said.get("do_center_crop", False):
        height, width = _size(said.get("crop_size"), image)
        top, left = (image.shape[0] - height) // 2, (image.shape[1] - width) // 2
        if top < 0 or left < 0:
            raise ShapeError(
                f"the image processor crops {height} x {width} out of {image.shape[0]} x "
                f"{image.shape[1]} pixels: give a larger image."
            )
        image = image[top : top + height, left : left + width]
    return image


def _size(said: object, image: Tensor) -> tuple[int, int]:
    """Return height and width from one of the forms in which processors say them."""
    if isinstance(said, int):
        return said, said
    if isinstance(said, dict):
        match said:
            case {"height": int(height), "width": int(width)}:
                return height, width
            case {"shortest_edge": int(edge)}:
                height, width = image.shape[:2]
                scale = edge / min(height, width)
                return int(height * scale), int(width * scale)
    raise ShapeError(
        f"the image processor wants a size of {said!r}, and sizes that are known are a number, "
        f"height and width, or shortest_edge: write one of them into {_SETTINGS}."
    )


def _resized(
    image: UInt8[Tensor, "h w 3"], size: tuple[int, int], way: object
) -> UInt8[Tensor, "H W 3"]:
    if way not in _WAYS:
        raise ShapeError(
            f"the image processor resamples by {way!r}, and known are "
            f"{', '.join(map(str, _WAYS))}: resize the image yourself and set do_resize to false "
            f"in {_SETTINGS}."
        )
    mode = _WAYS[way]
    soft = mode != "nearest-exact"
    found = interpolate(
        image.permute(2, 0, 1)[None].to(torch.float32), size=size, mode=mode, antialias=soft
    )
    return found[0].permute(1, 2, 0).round().clamp(0, 255).to(torch.uint8)
