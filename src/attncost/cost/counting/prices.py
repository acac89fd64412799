"""The price of any operation: its own formula, or the one of its kind."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeAlias

from torch._ops import OpOverload

from attncost.core.cost import Cost
from attncost.cost.counting import formulas
from attncost.cost.counting.formulas.elementwise import general_price
from attncost.cost.counting.registry import Price, price, price_of

__all__ = ["cost_of", "price", "price_for"]

# PyTorch has no type for all operations, nor for what they take and return.
Operation: TypeAlias = Any
Value: TypeAlias = Any

# Before anybody else prices an operation, so that the last word is theirs.
for _file in iter_modules(formulas.__path__):
    import_module(f"{formulas.__name__}.{_file.name}")


def price_for(operation: Operation) -> Price | None:
    """Return what an operation costs, or None if nobody knows."""
    return price_of(operation) or general_price(operation)


def cost_of(
    known: Price,
    operation: Operation,
    args: tuple[Value, ...],
    kwargs: dict[str, Value],
    out: Value,
) -> Cost:
    """Return the cost of one call that returned `out`."""
    written = _written(operation) if isinstance(operation, OpOverload) else frozenset()
    given = {name: value for name, value in kwargs.items() if name not in written}
    return known.formula(*args, out=out, **given)


@cache
def _written(operation: Operation) -> frozenset[str]:
    """Return the keywords under which results are written into: `out`, mostly."""
    return frozenset(
        argument.name
        for argument in operation._schema.arguments
        if argument.kwarg_only and argument.alias_info and argument.alias_info.is_write
    )
