"""A run on fake tensors of a CPU as a GPU would run it: where operations choose by the device.

Fake tensors of a GPU need a PyTorch that is built for one, so those of a CPU take their place.
Few operations look at the device before they become others: attention, see `attention_on`, and
dropout, which keeps truths on a GPU where it keeps numbers on a CPU. What runs in their place is
told to PyTorch's dispatcher in Python, which sees them wherever they are called.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Final

import torch
from torch import Tensor
from torch._C import DispatchKey
from torch._dispatch.python import enable_python_dispatcher

from attncost.cost.memory.attention_on import attend

_ATEN: Final = torch.ops.aten
_KEYS: Final = (DispatchKey.AutogradCPU, DispatchKey.CPU)


@contextmanager
def like_a_gpu() -> Iterator[None]:
    """Let tensors of a CPU take the way of those of a GPU, in this thread."""
    fast = torch.backends.mha.get_fastpath_enabled()
    for operation, run in _INSTEAD.items():
        for key in _KEYS:
            operation.py_impl(key)(run)
    # What the fast paths of whole layers hold on a GPU nobody has written down.
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with enable_python_dispatcher(), _autocast():
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        for operation in _INSTEAD:
            for key in _KEYS:
                del operation.py_kernels[key]
            operation._dispatch_cache.clear()


def _autocast() -> AbstractContextManager[object]:
    """Bring to 16 bits on a CPU what the surroundings would on a GPU."""
    if not torch.is_autocast_enabled("cuda"):
        return nullcontext()
    return torch.autocast("cpu", torch.get_autocast_dtype("cuda"))


def _dropout(x: Tensor, p: float, train: bool) -> Tensor:
    """Drop by the fused operation, where a GPU would."""
    if train and 0 < p < 1 and x.numel():
        return torch.native_dropout(x, p, train)[0]
    out: Tensor = _ATEN.dropout.default.decompose(x, p, train)
    return out


_INSTEAD: Final[dict[Any, Callable[..., Tensor]]] = {
    _ATEN.scaled_dot_product_attention.default: attend,
    _ATEN.dropout.default: _dropout,
}
