"""What an operation holds inside, by the table of scratch; a view holds nothing."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeAlias

import torch
from torch._ops import OpOverload

from attncost.cost.memory import scratch as kinds
from attncost.cost.memory.registry import nothing, scratch_of
from attncost.cost.memory.registry import scratch as scratch  # noqa: PLC0414 -- of all names

# PyTorch has no type for all operations, nor for what they take and return.
Operation: TypeAlias = Any
Value: TypeAlias = Any

# Before anybody else declares an operation's scratch, so that the last word is theirs.
for _file in iter_modules(kinds.__path__):
    import_module(f"{kinds.__name__}.{_file.name}")


def is_declared(operation: Operation, device: str) -> bool:
    """Say whether anybody has declared what an operation holds on a kind of device."""
    return scratch_of(operation, device) is not None


def hidden(
    operation: Operation, args: tuple[Value, ...], kwargs: dict[str, Value], out: Value, device: str
) -> int | None:
    """Return the bytes that one call held inside, which returned `out`; None if nobody knows."""
    formula = scratch_of(operation, device)
    if formula is None:
        if not isinstance(operation, OpOverload) or not _is_view(operation):
            return None
        formula = nothing
    return formula(*args, out=out, **{k: v for k, v in kwargs.items() if k != "out"})


@cache
def _is_view(operation: OpOverload[..., Any]) -> bool:
    """Say whether all that it returns lies in what it takes, and no number is written."""
    if torch.Tag.inplace_view in operation.tags:
        return True
    aliases = [returned.alias_info for returned in operation._schema.returns]
    return bool(aliases) and all(alias and not alias.is_write for alias in aliases)
