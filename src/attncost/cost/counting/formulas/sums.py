"""What operations cost that look at many numbers for one: sums, norms, losses, sorts, distances.

Elementwise operations for each number of the argument: 1 for a sum, a product, an extreme value or
a choice; 2 for a norm (power, sum); 4 for a variance (mean, subtraction, square, sum) and for a
log-sum-exp (maximum, subtraction, exponential, sum). A loss is counted with its reduction.
Sorting n numbers takes n comparisons for each binary digit of n; a Fourier transform takes 5 n, as
the algorithm of Cooley and Tukey does.
"""

from collections.abc import Callable
from typing import Final

from torch import Tensor

from attncost.core.cost import Cost
from attncost.cost.counting.formulas.names import aten
from attncost.cost.counting.formulas.traffic import Argument, moving
from attncost.cost.counting.registry import ELEMENTWISE

# Operations for each number of the first argument.
_EACH: Final = {
    1: aten("""
        sum nansum mean amax amin max min aminmax _aminmax all any argmax argmin prod equal
        count_nonzero median nanmedian kthvalue mode topk nonzero bincount histc histogram trace
        _is_all_true _is_any_true cumsum cumsum_ cumprod cumprod_ cummax cummin
        _cummax_helper _cummin_helper segment_reduce multinomial
    """),
    2: aten("""
        norm linalg_vector_norm linalg__powsum native_norm renorm renorm_ _weight_norm_interface
    """),
    3: aten("""
        mse_loss allclose dist logcumsumexp _logcumsumexp soft_margin_loss
        _weight_norm_interface_backward
    """),
    4: aten("var std var_mean std_mean logsumexp smooth_l1_loss huber_loss multi_margin_loss"),
    5: aten("binary_cross_entropy"),
    6: aten("binary_cross_entropy_with_logits"),
}


def for_each(count: int) -> Callable[..., Cost]:
    """Return the formula of an operation that does so much for each number of its argument."""

    def formula(x: Tensor, *_: Argument, out: Argument, **__: Argument) -> Cost:
        return Cost(elementwise=count * x.numel())

    return formula


for _count, _names in _EACH.items():
    moving(*_names, step=ELEMENTWISE)(for_each(_count))


@moving("aten::sort", "aten::unique_dim", step=ELEMENTWISE)
def sort(x: Tensor, dim: int = -1, *_: Argument, out: Argument, **__: Argument) -> Cost:
    """Return the cost of sorting along one axis."""
    return Cost(elementwise=x.numel() * _digits(x.shape[dim] if x.dim() else 1))


@moving("aten::_unique", "aten::_unique2", "aten::unique_consecutive", step=ELEMENTWISE)
def unique(x: Tensor, *_: Argument, out: Argument, **__: Argument) -> Cost:
    """Return the cost of sorting all numbers, which brings equal ones together."""
    return Cost(elementwise=x.numel() * _digits(x.numel()))


@moving("aten::_cdist_forward", "aten::_pdist_forward", step=ELEMENTWISE)
def distances(x: Tensor, *_: Argument, out: Tensor) -> Cost:
    """Return the cost of all distances one by one: subtraction, power and sum."""
    return Cost(elementwise=3 * out.numel() * x.shape[-1])


@moving("aten::_cdist_backward", "aten::_pdist_backward", step=ELEMENTWISE)
def distances_backward(grad: Tensor, x: Tensor, *_: Argument, out: Tensor) -> Cost:
    """Return the cost of the gradient of one of the two: subtraction, product and sum."""
    return Cost(elementwise=3 * grad.numel() * x.shape[-1])


@moving("aten::_fft_c2c", "aten::_fft_r2c", "aten::_fft_c2r", step=ELEMENTWISE)
def fourier(x: Tensor, axes: list[int], *_: Argument, out: Tensor, **__: Argument) -> Cost:
    """Return the cost of a fast Fourier transform, half of it if one side is real."""
    digits = sum(_digits(max(x.shape[axis], out.shape[axis])) for axis in axes)
    whole = 5 * max(x.numel(), out.numel()) * digits
    return Cost(elementwise=whole if x.is_complex() and out.is_complex() else whole // 2)


def _digits(count: int) -> int:
    """Return the binary digits of the places of so many things."""
    return max(count - 1, 0).bit_length()
