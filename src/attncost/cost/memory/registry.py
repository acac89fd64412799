"""What an operation holds while it runs, beside its arguments and results: its scratch.

A run on fake tensors sees the tensors that go into an operation and come out of it. What a kernel
allocates inside and gives back before it returns is seen by nobody, so it is declared here, for
each device; an operation without a declaration makes a peak "at least".
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar

from attncost.cost.counting.registry import Operation, name_of

Scratch: TypeAlias = Callable[..., int | None]
S = TypeVar("S", bound=Scratch)

_SCRATCH: Final[dict[tuple[str, str], Scratch]] = {}


def scratch(*operations: Operation, device: str = "cpu") -> Callable[[S], S]:
    """Decorate the formula of an operation's scratch; the last one given is used.

    The formula takes what the operation took, and its result as `out`. It returns the bytes that
    are live at the worst moment beyond the arguments and all results; 0 if there are none.

    >>> @scratch("mylib::sorted_copy")
    ... def sorted_copy(x, *, out):
    ...     return x.numel() * x.element_size()

    Args:
        *operations: Operations, as `torch.ops.mylib.mlp` or "mylib::mlp", all overloads of it.
        device: The kind of device that it is known for.

    Raises:
        ShapeError: If something is no operation.
    """
    names = [name_of(operation) for operation in operations]

    def add(formula: S) -> S:
        for name in names:
            _SCRATCH[name, device] = formula
        return formula

    return add


def scratch_of(operation: Operation, device: str) -> Scratch | None:
    """Return the formula of an operation's scratch on a device, if it is known."""
    return _SCRATCH.get((name_of(operation), device))


def nothing(*_: Any, **__: Any) -> int:  # noqa: ANN401 -- any operation's
    """Hold nothing: the formula of whatever writes straight into its results."""
    return 0
