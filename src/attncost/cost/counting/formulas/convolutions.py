"""What convolutions cost, and their gradients.

Each weight is multiplied once for each place of the filter: each place of the result, or of the
input of a transposed convolution, 2 FLOPs a time. So padding is multiplied as if it were data,
as everybody counts, though a kernel may leave it out. A gradient of the input, or of the weight,
costs what the convolution does. Adding a bias is elementwise, and so is the sum that is its
gradient. Convolutions whose weights are packed beyond reading have no price here.
"""

from math import prod
from typing import Final

from torch import Tensor

from attncost.core.cost import Cost
from attncost.cost.counting.formulas.products import biased
from attncost.cost.counting.formulas.traffic import Argument, moving

_STEP: Final = "convolution"


@moving("aten::convolution", "aten::_convolution", "aten::convolution_overrideable", step=_STEP)
def convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    *rest: Argument,
    out: Tensor,
    **_: Argument,
) -> Cost:
    """Return the cost of any convolution; the fourth of `rest` says whether it is transposed."""
    transposed = rest[3]
    return _applied(weight, x if transposed else out) + biased((bias,), out)


@moving("aten::mkldnn_convolution", "mkldnn::_convolution_pointwise", step=_STEP)
@moving("aten::cudnn_convolution_relu", "aten::miopen_convolution_relu", step=_STEP)
@moving("aten::miopen_convolution", "aten::miopen_depthwise_convolution", step=_STEP)
@moving("aten::_mps_convolution", "aten::_nnpack_spatial_convolution", step=_STEP)
@moving("aten::cudnn_convolution", step=_STEP)
def direct(x: Tensor, weight: Tensor, *rest: Argument, out: Tensor, **_: Argument) -> Cost:
    """Return the cost of a convolution that is not transposed; `rest` may begin with a bias."""
    return _applied(weight, out) + biased(rest, out)


@moving("aten::cudnn_convolution_transpose", "aten::miopen_convolution_transpose", step=_STEP)
@moving("aten::_mps_convolution_transpose", step=_STEP)
@moving("mkldnn::_convolution_transpose_pointwise", step=_STEP)
def transposed(x: Tensor, weight: Tensor, *rest: Argument, out: Tensor, **_: Argument) -> Cost:
    """Return the cost of a transposed convolution; `rest` may begin with a bias."""
    return _applied(weight, x) + biased(rest, out)


@moving("aten::_slow_conv2d_forward", "aten::slow_conv3d_forward", step=_STEP)
@moving("aten::slow_conv_dilated2d", "aten::slow_conv_dilated3d", step=_STEP)
@moving("aten::_conv_depthwise2d", "aten::conv_depthwise3d", step=_STEP)
def slow(x: Tensor, weight: Tensor, size: list[int], *rest: Argument, out: Tensor) -> Cost:
    """Return the cost of a convolution that takes the size of its filter before the bias."""
    return direct(x, weight, *rest, out=out)


@moving("aten::slow_conv_transpose2d", "aten::slow_conv_transpose3d", step=_STEP)
def slow_transposed(
    x: Tensor, weight: Tensor, size: list[int], *rest: Argument, out: Tensor
) -> Cost:
    """Return the cost of a transposed convolution that takes the size of its filter first."""
    return transposed(x, weight, *rest, out=out)


@moving("aten::conv_tbc", step=_STEP)
def conv_tbc(x: Tensor, weight: Tensor, bias: Tensor, pad: int = 0, *, out: Tensor) -> Cost:
    """Return the cost of a convolution on (time, batch, channels)."""
    places = out.shape[0] * out.shape[1]
    return Cost.product(places, weight.numel(), 1) + biased((bias,), out)


@moving("aten::convolution_backward", "aten::convolution_backward_overrideable", step=_STEP)
def convolution_backward(
    grad: Tensor, x: Tensor, weight: Tensor, *rest: Argument, out: Argument
) -> Cost:
    """Return the cost of the gradients of input, weight and bias that are asked for."""
    *_, transposed, _, _, mask = rest
    return _gradients(_applied(weight, x if transposed else grad), grad, mask)


@moving("aten::mps_convolution_backward", step=_STEP)
def mps_convolution_backward(
    x: Tensor, grad: Tensor, weight: Tensor, *rest: Argument, out: Argument
) -> Cost:
    """Return the cost of the gradients of input, weight and bias that are asked for."""
    return _gradients(_applied(weight, grad), grad, rest[-1])


def _applied(weight: Tensor, places: Tensor) -> Cost:
    """Return the cost of applying a filter at every place of (batch, channels, ...)."""
    return Cost.product(places.shape[0] * prod(places.shape[2:]), weight.numel(), 1)


def _gradients(once: Cost, grad: Tensor, mask: list[bool]) -> Cost:
    """Return the cost of the gradients of input, weight and bias that are asked for."""
    of_input, of_weight, of_bias = mask
    return once * (of_input + of_weight) + Cost(elementwise=grad.numel() if of_bias else 0)
