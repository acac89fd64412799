"""Views and elementwise operations on fake tensors, without the questions PyTorch asks of others.

Where a rule of a pattern is worked out, thousands of them follow one another. A view is on the
device of what it looks at. What an elementwise operation returns is remembered: its shape, strides
and type for the same of what it takes.
"""

from functools import cache
from typing import Any, Final, TypeAlias, final

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch._subclasses import FakeTensor, FakeTensorMode
from torch._subclasses.fake_tensor import in_kernel_invocation_manager

# PyTorch has no type for all operations, nor for what they take and return.
Operation: TypeAlias = Any
Value: TypeAlias = Any

_NUMBERS: Final = (bool, int, float)


@final
class Quick:
    """Runs operations in a mode, and remembers the results of those that are elementwise."""

    def __init__(self, mode: FakeTensorMode) -> None:
        self._mode: Final = mode
        self._found: Final[dict[Value, tuple[tuple[int, ...], tuple[int, ...], torch.dtype]]] = {}

    def run(self, operation: Operation, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        """Return the result of an operation."""
        kind = None if kwargs else _kind(operation)
        if kind is None:
            return operation(*args, **kwargs)
        if kind == "view":
            return self._view(operation, args)
        known = _known(operation, args)
        found = None if known is None else self._found.get(known)
        if found is None:
            out = operation(*args)
            if known is not None and isinstance(out, FakeTensor) and _is_dense(out):
                self._found[known] = tuple(out.shape), out.stride(), out.dtype
            return out
        shape, strides, dtype = found
        with in_kernel_invocation_manager(self._mode):
            elements = torch.empty_strided(shape, strides, dtype=dtype, device="meta")
        return FakeTensor(self._mode, elements, known[1])

    def _view(self, operation: Operation, args: tuple[Value, ...]) -> Value:
        looked_at = args[0]
        if not isinstance(looked_at, FakeTensor) or looked_at.constant is not None:
            return operation(*args)
        with in_kernel_invocation_manager(self._mode):
            elements = operation(*args)
        return FakeTensor(self._mode, elements, looked_at.fake_device)


def _known(operation: Operation, args: tuple[Value, ...]) -> Value:
    """Return what a result depends on: the operation, the device and what is taken."""
    device, found = None, []
    for value in args:
        if isinstance(value, FakeTensor):
            if value.constant is not None or device not in (None, value.fake_device):
                return None
            device = value.fake_device
            found += [value.shape, value.stride(), value.dtype]
        elif isinstance(value, _NUMBERS):
            # The type decides, and equal numbers of two types are one key.
            found += [type(value)]
        else:
            return None
    return None if device is None else (operation, device, *found)


def _is_dense(out: Tensor) -> bool:
    """Say whether a new tensor of the same strides takes as much."""
    return out.untyped_storage().nbytes() == out.numel() * out.itemsize


@cache
def _kind(operation: Operation) -> str | None:
    """Return `view` or `elementwise` for those that return one tensor and write nowhere."""
    if not isinstance(operation, OpOverload) or operation.namespace != "aten":
        return None
    returns, takes = operation._schema.returns, operation._schema.arguments
    composite = torch._C.DispatchKey.CompositeImplicitAutograd
    if operation._schema.is_mutable or len(returns) != 1 or str(returns[0].type) != "Tensor":
        return None
    if operation.has_kernel_for_dispatch_key(composite):
        return None
    if returns[0].alias_info is not None:
        return "view" if sum("Tensor" in str(one.type) for one in takes) == 1 else None
    return "elementwise" if torch.Tag.pointwise in operation.tags else None
