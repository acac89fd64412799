"""Where PyTorch adds in place, did it not see fake tensors.

Where gradients of one tensor meet, autograd adds the second into the first if nobody else holds
that; `linear` adds its bias into a product that it had to bring into order first. For fake tensors,
and whenever somebody watches operations, it makes a new tensor instead. So what a real run would do
is told from how many hold a tensor while its operation is handed over.
"""

from typing import Any, Final

import torch
from torch import Tensor
from torch._prims_common import is_non_overlapping_and_dense_or_false

# Who holds a tensor that an operation of PyTorch's own takes and nobody else has: the caller, the
# stack of operations, and Python, twice over.
_ALONE: Final = 4
# A storage that one tensor has to itself is held by it, and by Python's view of it.
_ALONE_STORAGE: Final = 2


def added_into(args: tuple[Any, ...], *, meets: bool, follows: str) -> Tensor | None:
    """Return which tensor a sum would be added into in a real run; None for a new one.

    Args:
        args: What `aten::add` got.
        meets: Whether it is in a backward pass, where gradients meet.
        follows: The operation before.
    """
    one, other = args[:2]
    if not (isinstance(one, Tensor) and isinstance(other, Tensor)):
        return None
    gradients = meets and not torch.is_grad_enabled() and _alike(one, other)
    bias = follows == "aten::_unsafe_view" and other.dim() == 1
    return one if (gradients or bias) and _is_alone(one) else None


def _alike(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype


def _is_alone(tensor: Tensor) -> bool:
    storage = tensor.untyped_storage()._cdata
    return (
        tensor._use_count() == _ALONE  # type: ignore[attr-defined]
        and torch._C._storage_Use_Count(storage) == _ALONE_STORAGE
        and is_non_overlapping_and_dense_or_false(tensor)
    )
