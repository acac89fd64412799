"""What softmax and its gradients hold: contiguous copies of what is not contiguous."""

from torch import Tensor

from attncost.cost.memory.registry import scratch
from attncost.cost.memory.scratch.copies import Argument, copied


@scratch("aten::_softmax", "aten::_log_softmax")
def softmax(x: Tensor, *_: Argument, out: Tensor) -> int | None:
    """Return the bytes of a copy of the scores."""
    return copied(x) if x.dtype == out.dtype else None


@scratch("aten::_softmax_backward_data", "aten::_log_softmax_backward_data")
def softmax_backward(grad: Tensor, result: Tensor, *_: Argument, out: Tensor) -> int | None:
    """Return the bytes of copies of the gradient and of the result of softmax."""
    return copied(grad, result) if grad.dtype == out.dtype else None


@scratch("aten::_safe_softmax")
def safe_softmax(x: Tensor, dim: int, *_: Argument, out: Tensor) -> int | None:
    """Return the bytes of the copy, or of what finds the rows that are hidden whole.

    That is a truth for each score and one for each row, and the number that fills such a row.
    """
    if x.dtype != out.dtype:
        return None
    rows = x.numel() // max(1, x.shape[dim])
    return max(copied(x), x.numel() + rows + x.itemsize)
