"""What operations hold that read, write or add at given places.

Places are 64-bit integers here; how many a mask shows depends on its values, so what it takes is
not known. Below 32 bits several of them compute beside their result, and nobody has measured how.
"""

from typing import Final

import torch
from torch import Tensor

from attncost.cost.counting.formulas.names import aten
from attncost.cost.memory.registry import nothing, scratch
from attncost.cost.memory.scratch.copies import HALF, Argument, copied

PLACED: Final = aten("index _unsafe_index index_put index_put_ _unsafe_index_put")
ALONG: Final = aten("gather scatter_ scatter_add scatter_add_ index_add index_add_")

SEEN: Final = aten("nonzero")

scratch(*SEEN)(nothing)


@scratch("aten::embedding")
def embedding(_: Tensor, indices: Tensor, *__: Argument, out: Tensor) -> int:
    """Return the bytes of a copy of the indices."""
    return copied(indices)


@scratch("aten::embedding_dense_backward")
def embedding_backward(
    grad: Tensor, indices: Tensor, _: int, __: int, scaled: bool, *, out: Tensor
) -> int | None:
    """Return the bytes of copies of gradient and indices."""
    return None if scaled else copied(grad, indices)


@scratch(*PLACED)
def placed(_: Tensor, places: list[Tensor | None], *__: Argument, out: Tensor) -> int | None:
    """Return nothing, if places are given as such."""
    given = [index for index in places if index is not None]
    return 0 if all(index.dtype == torch.int64 for index in given) else None


@scratch(*ALONG)
def along(x: Tensor, *_: Argument, out: Tensor, **__: Argument) -> int | None:
    """Return nothing for places along one axis."""
    return None if x.dtype in HALF else 0


@scratch("aten::index_select")
def selected(x: Tensor, dim: int, _: Tensor, *, out: Tensor) -> int:
    """Return the bytes of a copy for the second axis, which has a kernel of its own."""
    return copied(x) if dim % max(1, x.dim()) == 1 else 0
