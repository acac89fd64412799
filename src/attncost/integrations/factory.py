"""`package.module:factory`: a function of the user's that returns what is to be counted.

It returns a module, or a module with its inputs: a tensor, a tuple or a dictionary. If it takes
`length` or `batch`, it is given them. It runs on the meta device, so that no weights are made; if
it needs values while it builds, it is run again on the usual one. What is to be timed needs
weights, and runs where it shall be timed.
"""

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeAlias, final

import torch
from torch import Tensor, nn

from attncost.core.errors import ShapeError, UnknownName
from attncost.integrations.theirs import asks_for_values, explained, foreign

# A module, its inputs by position and by keyword.
Parts: TypeAlias = tuple[nn.Module, tuple[Any, ...], dict[str, Any]]

_SIZES: Final = ("length", "batch")


@final
@dataclass(frozen=True, slots=True)
class Factory:
    """What makes a module and its inputs.

    Attributes:
        make: Does so, for a length and a batch.
        sized: Whether these matter to it; if not, its inputs have sizes of their own.
    """

    make: Callable[[int, int], Parts]
    sized: bool


def factory(text: str, *, device: str = "meta") -> Factory:
    """Return the factory of a name; one that takes no sizes is called now.

    Args:
        text: `package.module:factory`; the current folder is importable.
        device: Where it makes what it does not put elsewhere itself; `cpu` makes weights.

    Raises:
        ShapeError: If there is no such module, it fails, or it returns something else.
        UnknownName: If the module has no such function.
    """
    function = _found(text)
    taken = _taken(function, text)
    if taken:

        def make(length: int, batch: int) -> Parts:
            sizes = dict(zip(_SIZES, (length, batch), strict=True))
            made = _made(function, text, {name: sizes[name] for name in taken}, device)
            return _parts(made, text, length, batch)

        return Factory(make, sized="length" in taken)
    made = _made(function, text, {}, device)
    return Factory(
        lambda length, batch: _parts(made, text, length, batch), sized=isinstance(made, nn.Module)
    )


def _taken(function: Callable[..., Any], text: str) -> list[str]:
    """Return which sizes a function takes."""
    with explained(text):
        parameters = inspect.signature(function).parameters
    free = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    needed = [n for n, p in parameters.items() if p.default is p.empty and p.kind not in free]
    if unknown := [name for name in needed if name not in _SIZES]:
        raise ShapeError(
            f"{text} needs {', '.join(unknown)}: expected a function that can be called with "
            "nothing, or with length and batch."
        )
    return [name for name in _SIZES if name in parameters]


def _made(function: Callable[..., Any], text: str, sizes: dict[str, int], device: str) -> Any:  # noqa: ANN401 -- theirs
    with _importable(), foreign(text):
        try:
            with torch.device(device):
                return function(**sizes)
        except RuntimeError as error:
            if device != "meta" or not asks_for_values(error):
                raise
        return function(**sizes)


def _parts(made: object, text: str, length: int, batch: int) -> Parts:
    module, inputs = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
    if not isinstance(module, nn.Module):
        raise ShapeError(
            f"{text} must return a module, or (module, inputs), got {type(made).__name__}."
        )
    if inputs is None:
        return module, (_guessed(module, text, length, batch),), {}
    if isinstance(inputs, dict):
        return module, (), inputs
    return module, tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,), {}


def _found(text: str) -> Callable[..., Any]:
    home, _, name = text.partition(":")
    if not all(part.isidentifier() for part in (*home.split("."), name)):
        raise ShapeError(f"expected package.module:factory, got {text!r}.")
    with _importable(), foreign(text):
        try:
            module = import_module(home)
        except ModuleNotFoundError as error:
            # What the module itself lacks is an error of the module.
            if not f"{home}.".startswith(f"{error.name}."):
                raise
            raise ShapeError(
                f"there is no module {error.name!r} here: give package.module:factory from a "
                f"folder where `import {home}` works."
            ) from error
    function = getattr(module, name, None)
    if not callable(function):
        own = [
            one
            for one, value in vars(module).items()
            if getattr(value, "__module__", None) == home and not one.startswith("_")
        ]
        raise UnknownName(f"function in {home}", name, own)
    return function  # type: ignore[no-any-return]


@contextmanager
def _importable() -> Iterator[None]:
    """Let the current folder be imported from, as `python -m` does."""
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


def _guessed(module: nn.Module, text: str, length: int, batch: int) -> Tensor:
    """Return numbers of tokens for what begins with an embedding, features for a layer.

    They are random ones: equal tokens would look up one row, which stays in the cache.
    """
    learned = (m for m in module.modules() if m._parameters)
    first = next(learned, None)
    device = next((p.device for p in module.parameters()), torch.device("meta"))
    if isinstance(first, nn.Embedding):
        return torch.randint(first.num_embeddings, (batch, length), device=device)
    width = getattr(module, "d_model", None)
    if isinstance(width, int):
        return torch.rand(batch, length, width, device=device)
    raise ShapeError(
        f"{text} returns a {type(module).__name__}, whose inputs cannot be guessed: return "
        "(module, inputs)."
    )
