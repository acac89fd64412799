"""Errors of other people's code, in one line that says where they came from."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import torch

from attncost.core.errors import AttnCostError, ShapeError

_META: Final = ("meta tensor", "Tensor.item() cannot be called")
_ADVICE: Final = (
    "tensors have no values here: make what needs them inside `with torch.device('cpu'):`."
)
_INSTALLED: Final = Path(torch.__file__).parents[1]
_HOSTS: Final = (Path(torch.__file__).parent, Path(__file__).parents[1])


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn whatever code that the user named raises into one line with its place.

    Args:
        name: Whose code it is.

    Raises:
        ShapeError: In place of an error of code that is neither ours nor PyTorch's.
    """
    try:
        yield
    except AttnCostError:
        raise
    except Exception as error:
        place = _place(error)
        if place is None:
            raise
        reason = (str(error).strip() or "no message").splitlines()[0]
        advice = f"; {_ADVICE}" if asks_for_values(error) else ""
        raise ShapeError(
            f"{name} raised {type(error).__name__} in {place}: {reason}{advice}"
        ) from error


def asks_for_values(error: Exception) -> bool:
    """Say whether an error comes from a tensor of the meta device, which has no values."""
    return isinstance(error, RuntimeError) and any(word in str(error) for word in _META)


def _place(error: Exception) -> str | None:
    """Return the innermost line that is not ours, PyTorch's or the importer's, if there is one.

    Lines of what is not installed, and so the user's own, come before those of libraries.
    """
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if not (f.filename.startswith("<frozen") or _of_a_host(f.filename))]
    if not theirs:
        return None
    users = [f for f in theirs if not Path(f.filename).is_relative_to(_INSTALLED)]
    frame = (users or theirs)[-1]
    path, here = Path(frame.filename), Path.cwd()
    own = bool(users) and path.is_relative_to(here)
    shown = path.relative_to(here) if own else Path(*path.parts[-2:])
    return f"{shown}:{frame.lineno}"


def _of_a_host(file: str) -> bool:
    return any(Path(file).is_relative_to(folder) for folder in _HOSTS)
