"""Which operations of PyTorch a call runs: what really happens, not what was written."""

from collections.abc import Callable, Mapping
from typing import Any, final

import torch
from torch.utils._python_dispatch import TorchDispatchMode


def operations(call: Callable[[], object]) -> frozenset[str]:
    """Return their names, such as `_scaled_dot_product_flash_attention_for_cpu`."""
    with _Listed() as listed:
        call()
    return frozenset(listed.names)


@final
class _Listed(TorchDispatchMode):
    """Notes every operation that has no simpler ones beneath it."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.names: set[str] = set()

    def __torch_dispatch__(
        self,
        operation: torch._ops.OpOverload,
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 -- whatever the operation returns
        self.names.add(operation.overloadpacket.__name__)
        return operation(*args, **(kwargs or {}))
