"""Other people's code: what it prints, and its errors in one line that says where they are from."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Final

import torch

from attncost.core.errors import AttnCostError, ShapeError
from attncost.integrations.pretrained import quiet

_META: Final = ("meta tensor", "Tensor.item() cannot be called")
_ADVICE: Final = (
    "tensors have no values here: make what needs them inside `with torch.device('cpu'):`."
)
_TORCH: Final = Path(torch.__file__).parent
_INSTALLED: Final = _TORCH.parent
_HOSTS: Final = (_TORCH, Path(__file__).parents[1])


@contextmanager
def foreign(name: str) -> Iterator[None]:
    """Run code that is not ours: what it prints is no output of ours, and errors are explained.

    It prints to stderr instead; transformers, where it is loaded, says nothing.

    Args:
        name: Whose code it is.

    Raises:
        ShapeError: In place of an error of code that is not ours.
    """
    loaded = sys.modules.get("transformers")
    silence = nullcontext() if loaded is None else quiet(loaded.utils.logging)
    with redirect_stdout(sys.stderr), silence, explained(name):
        yield


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Turn whatever code that the user named raises into one line with its place.

    Args:
        name: Whose code it is.

    Raises:
        ShapeError: In place of an error of code that is not ours; also where it ends the process.
    """
    try:
        yield
    except AttnCostError:
        raise
    except (Exception, SystemExit) as error:
        place = _place(error)
        if place is None:
            raise
        reason = reason_of(error)
        advice = f"; {_ADVICE}" if asks_for_values(error) else ""
        raise ShapeError(
            f"{name} raised {type(error).__name__} in {place}: {reason}{advice}"
        ) from error


def reason_of(error: BaseException) -> str:
    """Return the first line of an error, with the next one where it only announces that."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return "no message"
    return " ".join(lines[: 2 if lines[0].endswith(":") else 1])


def asks_for_values(error: BaseException) -> bool:
    """Say whether an error comes from a tensor of the meta device, which has no values."""
    return isinstance(error, RuntimeError) and any(word in str(error) for word in _META)


def _place(error: BaseException) -> str | None:
    """Return the innermost line that is not ours, PyTorch's or the importer's, if there is one.

    Lines of what is not installed, and so the user's own, come before those of libraries, and those
    before PyTorch's. An error that was raised in our code has no such place.
    """
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [f for f in frames if not (f.filename.startswith("<frozen") or _of_a_host(f.filename))]
    if not theirs:
        return _shown(frames[-1]) if Path(frames[-1].filename).is_relative_to(_TORCH) else None
    users = [f for f in theirs if not Path(f.filename).is_relative_to(_INSTALLED)]
    return _shown((users or theirs)[-1])


def _shown(frame: traceback.FrameSummary) -> str:
    path, here = Path(frame.filename), Path.cwd()
    own = path.is_relative_to(here) and not path.is_relative_to(_INSTALLED)
    return f"{path.relative_to(here) if own else Path(*path.parts[-2:])}:{frame.lineno}"


def _of_a_host(file: str) -> bool:
    return any(Path(file).is_relative_to(folder) for folder in _HOSTS)
