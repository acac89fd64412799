"""The two places where PyTorch lets others look on: its functions, and its operations."""

from collections.abc import Callable
from typing import Any, TypeAlias, final

from torch.nested._internal.nested_tensor import NestedTensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# PyTorch has no type for what it hands over.
Given: TypeAlias = Any
Handler: TypeAlias = Callable[[Given, tuple[Given, ...], dict[str, Given]], Given]


@final
class Functions(TorchFunctionMode):
    """Hands every call of a function of PyTorch to a handler, which runs it."""

    def __init__(self, handler: Handler) -> None:
        super().__init__()
        self._handler = handler

    def __torch_function__(
        self, func: Given, types: Given, args: Given = (), kwargs: Given = None
    ) -> Given:
        """Hand it over."""
        return self._handler(func, args, kwargs or {})


@final
class Operations(TorchDispatchMode):
    """Hands every operation beneath autograd to a handler, which runs it."""

    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Say that nothing here needs Dynamo kept away, whose import alone takes seconds."""
        return False

    def __init__(self, handler: Handler) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._handler = handler

    def __torch_dispatch__(
        self, func: Given, types: Given, args: Given = (), kwargs: Given = None
    ) -> Given:
        """Hand it over, but for jagged tensors: they take themselves apart and come again."""
        if any(isinstance(x, NestedTensor) for x in tree_leaves((args, kwargs))):
            return NotImplemented
        return self._handler(func, args, kwargs or {})
