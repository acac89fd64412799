"""The modules that a call runs, as far as the thing that is called tells of them."""

from functools import partial
from inspect import getclosurevars, isfunction
from typing import Final

from torch import nn
from torch.nn.parameter import UninitializedParameter

from attncost.core.errors import ShapeError

# Under this name `torch.compile` keeps the module that it was given.
COMPILED: Final = "_orig_mod"


def parts_of(called: object) -> dict[str, nn.Module]:
    """Return modules by name: those of a module, or those that a function uses by a name.

    Args:
        called: A module, a method of one, or any function.

    Raises:
        ShapeError: If a module has no sizes yet.
    """
    found = _parts(called)
    for name, part in found.items():
        if any(isinstance(p, UninitializedParameter) for p in part.parameters(recurse=False)):
            raise ShapeError(
                f"{name or class_of(called)} is lazy and has no sizes before its first call: call "
                "it once."
            )
    return found


def _parts(called: object) -> dict[str, nn.Module]:
    if isinstance(called, partial):
        return _parts(called.func)
    owner = getattr(called, "__self__", called)
    if isinstance(owner, nn.Module):
        return dict(owner.named_modules())
    if not isfunction(called):
        return {}
    used = getclosurevars(called)
    return {
        f"{name}.{inner}".removesuffix("."): part
        for name, value in (*used.nonlocals.items(), *used.globals.items())
        if isinstance(value, nn.Module)
        for inner, part in value.named_modules()
    }


def class_of(called: object) -> str:
    """Return what to call the whole: the class of a module, or the name of a function."""
    if isinstance(called, nn.Module):
        return type(getattr(called, COMPILED, called)).__name__
    return str(getattr(called, "__name__", type(called).__name__))
