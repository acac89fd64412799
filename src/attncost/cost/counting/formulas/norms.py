"""What softmax and normalizations cost, in elementwise operations for each number.

Softmax costs 5 forward (maximum, subtraction, exponential, sum, division), as Clark et al. 2020,
arXiv:2003.10555, count, and 4 backward. With x the input, g the gradient of the output times the
weight, r one over the deviation and y = (x - mean) r:

    layer, group, batch norm   forward 5: mean 1, subtraction 1, squares and their sum 2, scaling 1
    batch norm of kept moments forward 2: subtraction 1, scaling 1
    RMS norm                   forward 3: squares and their sum 2, scaling 1
    weight, bias               forward 1 each
    their gradients            g y and its sum 2, the sum of g 1
    gradient of x              10: y 2, g 1, sums of g and g y 3, r (g - mean g - y mean g y) 4
                               RMS norm 7: y 1, g 1, sum of g y 2, r (g - y mean g y) 3
                               batch norm of kept moments 2: g 1, r g 1
"""

from typing import Final

from torch import Tensor

from attncost.core.cost import Cost
from attncost.cost.counting.formulas.traffic import Argument, moving
from attncost.cost.counting.registry import ELEMENTWISE
from attncost.kernels.interface import SOFTMAX

NORM: Final = 5
_SOFTMAX_GRADIENT: Final = 4
_NORM_GRADIENT: Final = 10
_RMS, _RMS_GRADIENT = 3, 7
_KEPT, _KEPT_GRADIENT = 2, 2


@moving("aten::_softmax", "aten::_log_softmax", "aten::_safe_softmax", step=ELEMENTWISE)
@moving("aten::_masked_softmax", step=ELEMENTWISE)
def softmax(x: Tensor, *_: Argument, out: Tensor) -> Cost:
    """Return the cost of softmax or its logarithm."""
    return Cost(elementwise=SOFTMAX * x.numel())


@moving("aten::_softmax_backward_data", "aten::_log_softmax_backward_data", step=ELEMENTWISE)
@moving("aten::_masked_softmax_backward", step=ELEMENTWISE)
def softmax_backward(grad: Tensor, *_: Argument, out: Tensor) -> Cost:
    """Return the cost of the gradient of softmax or its logarithm."""
    return Cost(elementwise=_SOFTMAX_GRADIENT * grad.numel())


@moving("aten::native_layer_norm", step=ELEMENTWISE)
def layer_norm(x: Tensor, shape: list[int], *affine: Argument, out: Argument) -> Cost:
    """Return the cost of a layer norm."""
    return _normalized(x, NORM, affine[:2])


@moving("aten::_fused_rms_norm", step=ELEMENTWISE)
def rms_norm(x: Tensor, shape: list[int], *affine: Argument, out: Argument) -> Cost:
    """Return the cost of an RMS norm."""
    return _normalized(x, _RMS, affine[:1])


@moving("aten::native_group_norm", step=ELEMENTWISE)
def group_norm(x: Tensor, *affine: Argument, out: Argument) -> Cost:
    """Return the cost of a group norm."""
    return _normalized(x, NORM, affine[:2])


@moving("aten::native_batch_norm", "aten::cudnn_batch_norm", step=ELEMENTWISE)
@moving("aten::miopen_batch_norm", "aten::_native_batch_norm_legit", step=ELEMENTWISE)
@moving("aten::_native_batch_norm_legit_functional", step=ELEMENTWISE)
def batch_norm(x: Tensor, *rest: Argument, out: Argument) -> Cost:
    """Return the cost of a batch norm, which computes its moments in training only."""
    training = next(flag for flag in rest if isinstance(flag, bool))
    return _normalized(x, NORM if training else _KEPT, rest[:2])


@moving("aten::_batch_norm_with_update", step=ELEMENTWISE)
@moving("aten::_batch_norm_with_update_functional", step=ELEMENTWISE)
def batch_norm_in_training(x: Tensor, *rest: Argument, out: Argument) -> Cost:
    """Return the cost of a batch norm that computes its moments."""
    return _normalized(x, NORM, rest[:2])


@moving(
    "aten::_batch_norm_no_update", "aten::_native_batch_norm_legit_no_training", step=ELEMENTWISE
)
def batch_norm_of_kept(x: Tensor, *rest: Argument, out: Argument) -> Cost:
    """Return the cost of a batch norm whose moments are kept."""
    return _normalized(x, _KEPT, rest[:2])


@moving("aten::native_layer_norm_backward", "aten::native_group_norm_backward", step=ELEMENTWISE)
def norm_backward(grad: Tensor, *rest: Argument, out: Argument) -> Cost:
    """Return the cost of the gradients of a layer or group norm that are asked for."""
    return _gradients(grad, _NORM_GRADIENT, rest[-1])


@moving("aten::_fused_rms_norm_backward", step=ELEMENTWISE)
def rms_norm_backward(grad: Tensor, *rest: Argument, out: Argument) -> Cost:
    """Return the cost of the gradients of an RMS norm that are asked for."""
    return _gradients(grad, _RMS_GRADIENT, rest[-1])


@moving("aten::native_batch_norm_backward", step=ELEMENTWISE)
def batch_norm_backward(grad: Tensor, *rest: Argument, out: Argument) -> Cost:
    """Return the cost of the gradients of a batch norm that are asked for."""
    *_, training, _, mask = rest
    return _gradients(grad, _NORM_GRADIENT if training else _KEPT_GRADIENT, mask)


@moving("aten::batch_norm_backward", step=ELEMENTWISE)
def any_batch_norm_backward(grad: Tensor, *rest: Argument, out: Argument) -> Cost:
    """Return the cost of the gradients of a batch norm that are asked for."""
    *_, training, _, mask, _ = rest
    return _gradients(grad, _NORM_GRADIENT if training else _KEPT_GRADIENT, mask)


@moving("aten::cudnn_batch_norm_backward", "aten::miopen_batch_norm_backward", step=ELEMENTWISE)
def fused_batch_norm_backward(x: Tensor, *rest: Argument, out: Argument) -> Cost:
    """Return the cost of all gradients of a batch norm in training."""
    return _gradients(x, _NORM_GRADIENT, [True, True, True])


def _normalized(x: Tensor, each: int, affine: tuple[Tensor | None, ...]) -> Cost:
    given = sum(tensor is not None for tensor in affine)
    return Cost(elementwise=x.numel() * (each + given))


def _gradients(grad: Tensor, each: int, mask: list[bool]) -> Cost:
    """Return the cost of the gradients of input, weight (2) and bias (1)."""
    prices = (each, 2, 1)[: len(mask)]
    asked = sum(each for each, wanted in zip(prices, mask, strict=True) if wanted)
    return Cost(elementwise=grad.numel() * asked)
