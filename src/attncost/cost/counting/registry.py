"""What one operation of PyTorch costs: a table of formulas that anybody may extend.

A formula gets what the operation got, and its result as `out`; it returns the `Cost` of that one
call. An operation without a formula is never taken for free: whoever counts lists it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar, final

from torch._ops import HigherOrderOperator, OpOverload, OpOverloadPacket

from attncost.core.cost import Cost
from attncost.core.errors import ShapeError

# What the formulas of matrix products call their step, and what a count makes of it: products with
# weights, and of two activations.
PRODUCTS: Final = "products"
WEIGHTS: Final = "weights"
ACTIVATIONS: Final = "activations"
# That of fused attention, and of all that is no product.
ATTENTION: Final = "attention"
ELEMENTWISE: Final = "elementwise"

Operation: TypeAlias = str | OpOverload[..., Any] | OpOverloadPacket[..., Any] | HigherOrderOperator
Formula: TypeAlias = Callable[..., Cost]
F = TypeVar("F", bound=Formula)


@final
@dataclass(frozen=True, slots=True)
class Price:
    """What an operation costs.

    Attributes:
        step: What it is called in a table: `products`, `convolution`, `elementwise`, `movement`,
            or the user's own word.
        formula: Takes what the operation took, and its result as `out`.
    """

    step: str
    formula: Formula


_PRICES: Final[dict[str, Price]] = {}


def price(*operations: Operation, step: str = "custom") -> Callable[[F], F]:
    """Decorate the formula of an operation's cost; the last one given is used.

    >>> from attncost import Cost
    >>> @price("mylib::mlp")
    ... def mlp(x, weight, *, out):
    ...     return Cost.product(x.shape[0], x.shape[1], weight.shape[1])

    Args:
        *operations: Operations, as `torch.ops.mylib.mlp` or "mylib::mlp", all overloads of it.
        step: Where it is added up in tables by step.

    Raises:
        ShapeError: If something is no operation.
    """
    names = [name_of(operation) for operation in operations]

    def add(formula: F) -> F:
        for name in names:
            _PRICES[name] = Price(step, formula)
        return formula

    return add


def price_of(operation: Operation) -> Price | None:
    """Return the price of an operation, if it has one."""
    return _PRICES.get(name_of(operation))


def name_of(operation: object) -> str:
    """Return the name of an operation without its overload, such as `aten::mm`.

    Raises:
        ShapeError: If it is no operation.
    """
    if isinstance(operation, str) and "::" in operation:
        return operation
    if isinstance(operation, OpOverload):
        return operation._schema.name
    if isinstance(operation, OpOverloadPacket):
        return operation._qualified_op_name
    if isinstance(operation, HigherOrderOperator):
        return f"higher_order::{operation.name()}"
    raise ShapeError(
        f"an operation must be torch.ops.library.name or 'library::name', got {operation!r}."
    )
