"""Which modules of a model are attention layers that our function can serve."""

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from inspect import unwrap
from typing import Final, TypeAlias

from torch import nn

from attncost.core.errors import ShapeError, UnknownName, UnsupportedOption

Choice: TypeAlias = Iterable[int] | str | Callable[[str, nn.Module], bool] | None

# How the models of transformers call a layer whose keys come from elsewhere.
_CROSS: Final = ("cross", "encoder_attn", "encdec")


def attention_layers(model: nn.Module, choice: Choice = None) -> dict[str, nn.Module]:
    """Return attention layers by their name in the model.

    Args:
        model: A model of transformers.
        choice: Numbers of layers, counted from the end if negative; or a name with wildcards, such
            as "encoder.*"; or a function of a layer's name and module; all layers of
            self-attention if left out.

    Raises:
        ShapeError: If there is no such layer.
        UnknownName: If no layer has such a name.
        UnsupportedOption: If the model has no layer that asks transformers for its attention.
    """
    every = {name: module for name, module in model.named_modules() if _asks(module)}
    if not every:
        raise UnsupportedOption(
            f"{type(model).__name__} has no layer that asks transformers for its attention "
            "function, so none can be swapped: expected a model of transformers."
        )
    if isinstance(choice, str) or callable(choice):
        return _picked(every, choice)
    within = {name: module for name, module in every.items() if not is_cross(name, module)}
    if not within:
        raise UnsupportedOption(
            f"{type(model).__name__} has no layer of self-attention: choose one by its name, such "
            f"as {next(iter(every))!r}."
        )
    if choice is None:
        return within
    if not isinstance(choice, Iterable):
        raise ShapeError(f"layers must be numbers such as range(8) or [0, -1], got {choice!r}.")
    return numbered(within, list(choice))


def _picked(
    every: dict[str, nn.Module], choice: str | Callable[[str, nn.Module], bool]
) -> dict[str, nn.Module]:
    if isinstance(choice, str):
        found = {name: module for name, module in every.items() if fnmatchcase(name, choice)}
        if not found:
            raise UnknownName("attention layer", choice, every)
        return found
    found = {name: module for name, module in every.items() if choice(name, module)}
    if not found:
        raise ShapeError(f"the function chose none of the {len(every)} attention layers.")
    return found


def numbered(within: dict[str, nn.Module], wanted: list[int]) -> dict[str, nn.Module]:
    """Return layers by number; an encoder and a decoder count apart.

    Args:
        within: Layers of self-attention, by name in the model and in its order.
        wanted: Numbers, counted from the end if negative.

    Raises:
        ShapeError: If there is no such layer, or none is wanted.
    """
    numbers = _numbers(within)
    count = max(numbers.values(), default=-1) + 1
    if not wanted or not count:
        raise ShapeError(
            f"layers must name at least one of {count} layers, got {wanted or 'none'}: those of "
            "self-attention have numbers, and any can be chosen by its name."
        )
    for number in wanted:
        if number not in range(-count, count):
            raise ShapeError(
                f"layers must be numbers from {-count} to {count - 1}, as there are {count}, "
                f"got {number!r}."
            )
    chosen = {number % count for number in wanted}
    return {name: module for name, module in within.items() if numbers[name] in chosen}


def _numbers(within: dict[str, nn.Module]) -> dict[str, int]:
    """Return the number of each layer in its stack; an encoder and a decoder count apart."""
    stacks: dict[str, int] = {}
    numbers = {}
    for name in within:
        parts = name.split(".")
        stack = ".".join(part for part in parts if not part.isdecimal())
        numbers[name] = stacks.get(stack, 0)
        stacks[stack] = numbers[name] + 1
    return numbers


def _asks(module: nn.Module) -> bool:
    code = getattr(unwrap(type(module).forward), "__code__", None)
    return code is not None and "ALL_ATTENTION_FUNCTIONS" in code.co_names


def unserved(model: nn.Module) -> tuple[str, ...]:
    """Return the attention layers of a model that compute without asking for a function."""
    every = {name: module for name, module in model.named_modules() if _is_attention(module)}
    served = {name for name, module in every.items() if _asks(module)}
    return tuple(
        name
        for name in every
        if not any(name == one or name.startswith(f"{one}.") for one in served)
        and not any(one.startswith(f"{name}.") for one in every)
    )


def _is_attention(module: nn.Module) -> bool:
    return _asks(module) or "attention" in type(module).__name__.lower()


def crosses(module: nn.Module, *, reads_all: bool) -> bool:
    """Say whether the keys of a layer come from another sequence, by what the layer itself says.

    Args:
        module: The layer.
        reads_all: Whether its mask lets a query read every position, as that of a decoder's own
            tokens does not.
    """
    if getattr(module, "is_cross_attention", False) or "cross" in type(module).__name__.lower():
        return True
    configuration = getattr(module, "config", None)
    decodes = getattr(module, "is_decoder", getattr(configuration, "is_decoder", False))
    return reads_all and bool(decodes) and getattr(module, "is_causal", None) is False


def is_cross(name: str, module: nn.Module) -> bool:
    """Say whether the keys of a layer come from another sequence, by its name, too.

    Args:
        name: In the model.
        module: The layer.
    """
    return crosses(module, reads_all=False) or any(word in name.lower() for word in _CROSS)
