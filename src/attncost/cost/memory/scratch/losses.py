"""What losses hold."""

import torch
from torch import Tensor

from attncost.cost.memory.registry import nothing, scratch
from attncost.cost.memory.scratch.copies import HALF, Argument, copied, size
from attncost.cost.memory.scratch.reductions import mean, summed

_EACH, _MEAN = 0, 1

scratch("aten::nll_loss_backward", "aten::nll_loss2d_backward", "aten::mse_loss_backward")(nothing)


@scratch("aten::nll_loss_forward", "aten::nll_loss2d_forward")
def nll_loss(
    x: Tensor, target: Tensor, weight: Tensor | None, reduction: int, *_: Argument, out: Argument
) -> int:
    """Return the bytes of copies, made where the losses are put together."""
    return 0 if reduction == _EACH else copied(x, target)


@scratch("aten::mse_loss")
def mse_loss(x: Tensor, target: Tensor, reduction: int = _MEAN, *, out: Tensor) -> int | None:
    """Return the bytes of all squares, where they are put together."""
    if reduction == _EACH:
        return 0
    if x.dtype in HALF or torch.result_type(x, target) != out.dtype:
        return None
    squares = max(x, target, key=Tensor.numel)
    own = mean(squares, out=out) if reduction == _MEAN else summed(squares, out=out)
    return None if own is None else size(squares) + own
