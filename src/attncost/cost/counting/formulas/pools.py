"""What pools, interpolations and the gradients of padding cost, by what each number looks at.

A pool looks at its window, as if padding were data; an adaptive one looks at its argument once. A
multiply-add for each tap of an interpolation is 2. Copying the nearest number computes nothing.
"""

from collections.abc import Callable
from math import prod
from typing import Final

from torch import Tensor

from attncost.core.cost import Cost
from attncost.cost.counting.formulas.names import aten
from attncost.cost.counting.formulas.sums import for_each
from attncost.cost.counting.formulas.traffic import Argument, moving
from attncost.cost.counting.registry import ELEMENTWISE

# Each number of the argument, most often a gradient, is compared or added once.
_ONCE: Final = aten("""
    _adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_max_pool2d adaptive_max_pool3d
    _adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward adaptive_max_pool2d_backward
    adaptive_max_pool3d_backward mkldnn_adaptive_avg_pool2d mkldnn_adaptive_avg_pool2d_backward
    max_pool2d_with_indices_backward max_pool3d_with_indices_backward
    fractional_max_pool2d_backward fractional_max_pool3d_backward reflection_pad1d_backward
    reflection_pad2d_backward reflection_pad3d_backward replication_pad1d_backward
    replication_pad2d_backward replication_pad3d_backward upsample_nearest1d_backward
    upsample_nearest2d_backward upsample_nearest3d_backward
    _upsample_nearest_exact1d_backward _upsample_nearest_exact2d_backward
    _upsample_nearest_exact3d_backward col2im unfold_backward
""")
_TAPS: Final = {
    2: "upsample_linear1d",
    4: "upsample_bilinear2d",
    8: "upsample_trilinear3d",
    16: "upsample_bicubic2d",
}


moving(*_ONCE, step=ELEMENTWISE)(for_each(1))


def _interpolated(taps: int) -> Callable[..., Cost]:
    def formula(*_: Argument, out: Tensor) -> Cost:
        return Cost(elementwise=2 * taps * out.numel())

    return formula


for _taps, _name in _TAPS.items():
    moving(f"aten::{_name}", step=ELEMENTWISE)(_interpolated(_taps))
    moving(f"aten::{_name}_backward", step=ELEMENTWISE)(for_each(2 * _taps))


@moving("aten::avg_pool1d", "aten::avg_pool2d", "aten::avg_pool3d", step=ELEMENTWISE)
@moving("aten::max_pool2d_with_indices", "aten::max_pool3d_with_indices", step=ELEMENTWISE)
@moving("aten::mkldnn_max_pool2d", "aten::mkldnn_max_pool3d", step=ELEMENTWISE)
@moving("aten::fractional_max_pool2d", "aten::fractional_max_pool3d", step=ELEMENTWISE)
def pool(x: Tensor, window: list[int], *_: Argument, out: Argument, **__: Argument) -> Cost:
    """Return the cost of looking at a window for each number of the result."""
    pooled = out if isinstance(out, Tensor) else out[0]
    return Cost(elementwise=pooled.numel() * prod(window))


@moving("aten::avg_pool2d_backward", "aten::avg_pool3d_backward", step=ELEMENTWISE)
def pool_backward(grad: Tensor, x: Tensor, window: list[int], *_: Argument, out: Tensor) -> Cost:
    """Return the cost of giving each gradient to its window."""
    return Cost(elementwise=grad.numel() * prod(window))


@moving("aten::grid_sampler_2d", "aten::grid_sampler_3d", step=ELEMENTWISE)
def grid_sampler(x: Tensor, grid: Tensor, mode: int, *_: Argument, out: Tensor) -> Cost:
    """Return the cost of interpolating at given places: linear, nearest or cubic."""
    taps = {0: 2 ** (x.dim() - 2), 1: 1, 2: 16}[mode]
    return Cost(elementwise=2 * taps * out.numel())


@moving("aten::grid_sampler_2d_backward", "aten::grid_sampler_3d_backward", step=ELEMENTWISE)
def grid_sampler_backward(
    grad: Tensor, x: Tensor, grid: Tensor, mode: int, *_: Argument, out: Argument
) -> Cost:
    """Return the cost of the gradients of both the image and the places."""
    return 2 * grid_sampler(x, grid, mode, out=grad)
