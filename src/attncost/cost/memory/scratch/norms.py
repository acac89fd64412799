"""What normalizations hold: contiguous copies, and sums of gradients for each thread."""

import torch
from torch import Tensor

from attncost.cost.memory.registry import scratch
from attncost.cost.memory.scratch.copies import HALF, Argument, copied, size


@scratch("aten::native_layer_norm")
def layer_norm(
    x: Tensor,
    _: list[int],
    weight: Tensor | None,
    bias: Tensor | None,
    *__: Argument,
    out: Argument,
) -> int:
    """Return the bytes of copies of input, weight and bias."""
    return copied(x, weight, bias)


@scratch("aten::native_layer_norm_backward")
def layer_norm_backward(
    grad: Tensor, x: Tensor, shape: list[int], *rest: Argument, out: Argument
) -> int:
    """Return the bytes of copies, and of the gradients of weight and bias in each thread."""
    *_, weight, _, mask = rest
    sums = 2 * torch.get_num_threads() * (weight.numel() if weight is not None else 0)
    return copied(grad, x, weight) + (sums * x.itemsize if any(mask[1:]) else 0)


@scratch("aten::_fused_rms_norm")
def rms_norm(
    x: Tensor, _: list[int], weight: Tensor | None, *__: Argument, out: Argument
) -> int | None:
    """Return the bytes of the numbers before they are weighted, or of their mean squares.

    Below 32 bits, the input, the numbers before they are weighted and after are live in 32 bits.
    """
    if weight is None and not x.is_contiguous():
        return None
    if x.dtype not in HALF:
        return size(x) if weight is not None else size(out[1])
    one, rows = size(x, torch.float32), size(out[1])
    if weight is None:
        return 2 * (one + rows) - size(x) - rows
    return 3 * one + size(weight, torch.float32) - size(x)
