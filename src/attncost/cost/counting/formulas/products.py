"""What products of matrices cost, by any operation of PyTorch that computes one.

A product costs 2 FLOPs for each number of its result and each number summed into it. Adding a bias
costs one elementwise operation for each number of the result, as if it were an operation of its
own. Of a sparse factor only what it stores is multiplied; that is what is useful. In a grouped
product every row is taken to belong to a group: where the groups end is not read, so that a count
is the same with and without values.
"""

from math import prod
from typing import Final

import torch
from torch import Tensor

from attncost.core.cost import Cost
from attncost.cost.counting.formulas.names import aten
from attncost.cost.counting.formulas.traffic import Argument, elements, moving
from attncost.cost.counting.registry import PRODUCTS

_SPARSE: Final = (
    torch.sparse_coo,
    torch.sparse_csr,
    torch.sparse_csc,
    torch.sparse_bsr,
    torch.sparse_bsc,
)
# Products of a first argument (..., inner) with weights whose own shape may be a packed one.
_PACKED: Final = aten("""
    _int_mm _weight_int8pack_mm _weight_int4pack_mm _weight_int4pack_mm_for_cpu
    _weight_int4pack_mm_with_scales_and_zeros _dyn_quant_matmul_4bit
""")
_QUANTIZED: Final = (
    "quantized::matmul",
    "quantized::linear",
    "quantized::linear_relu",
    "quantized::linear_leaky_relu",
    "quantized::linear_tanh",
    "quantized::linear_dynamic",
    "quantized::linear_relu_dynamic",
    "quantized::linear_dynamic_fp16",
    "quantized::linear_relu_dynamic_fp16",
    "_quantized::linear",
    "_quantized::linear_dynamic",
    "onednn::qlinear_pointwise",
    "onednn::linear_dynamic_fp16",
    "onednn::linear_relu_dynamic_fp16",
)


@moving("aten::mm", "aten::bmm", "aten::_sparse_mm", "aten::hspmm", step=PRODUCTS)
def product(a: Tensor, b: Tensor, *_: Argument, out: Tensor, **__: Argument) -> Cost:
    """Return the cost of (..., rows, inner) times (..., inner, columns)."""
    return _multiply_adds(a, b, prod(a.shape) * b.shape[-1])


@moving("aten::addmm", "aten::addmm_", "aten::_addmm_activation", step=PRODUCTS)
@moving("aten::_sparse_addmm", "aten::sspaddmm", step=PRODUCTS)
@moving("aten::baddbmm", "aten::baddbmm_", step=PRODUCTS)
@moving("aten::addbmm", "aten::addbmm_", step=PRODUCTS)
def added(
    target: Tensor,
    a: Tensor,
    b: Tensor,
    *_: Argument,
    out: Tensor,
    beta: complex = 1,
    **__: Argument,
) -> Cost:
    """Return the cost of a product that is added to something, or to nothing if `beta` is 0."""
    return product(a, b, out=out) + Cost(elementwise=out.numel() if beta else 0)


@moving("aten::linear", "aten::mkldnn_linear", "aten::_mixed_dtypes_linear", step=PRODUCTS)
@moving("mkldnn::_linear_pointwise", "mkl::_mkl_linear", step=PRODUCTS)
def linear(
    x: Tensor,
    weight: Tensor,
    *rest: Argument,
    out: Tensor,
    bias: Tensor | None = None,
    **_: Argument,
) -> Cost:
    """Return the cost of a linear layer; `rest` begins with the bias, if there is one."""
    # A packed weight has a shape of its own, the result never has.
    cost = _multiply_adds(x, weight, out.numel() * x.shape[-1])
    return cost + biased(rest if bias is None else (bias,), out)


@moving(*_PACKED, *_QUANTIZED, step=PRODUCTS)
def packed(x: Tensor, *_: Argument, out: Tensor, **__: Argument) -> Cost:
    """Return the cost of a product with weights that may be packed."""
    return _flops(out.numel() * x.shape[-1])


@moving("aten::_scaled_mm", "aten::_scaled_mm_v2", step=PRODUCTS)
def scaled(
    a: Tensor,
    b: Tensor,
    *rest: Argument,
    out: Tensor,
    bias: Tensor | None = None,
    **_: Argument,
) -> Cost:
    """Return the cost of a product of numbers of 8 bits or fewer; scaling them is left out."""
    # Numbers of 4 bits lie two in a byte along the inner axis.
    pack = 2 if a.dtype is torch.float4_e2m1fn_x2 else 1
    cost = _flops(out.numel() * a.shape[-1] * pack)
    return cost + biased(rest[2:] if bias is None else (bias,), out)


@moving("aten::_grouped_mm", "aten::_scaled_grouped_mm", step=PRODUCTS)
@moving("aten::_scaled_grouped_mm_v2", step=PRODUCTS)
def grouped(a: Tensor, b: Tensor, *_: Argument, out: Tensor, **__: Argument) -> Cost:
    """Return the cost of one product for each group.

    Each group has its own matrices where a factor has three axes; where one has two, the groups
    share its rows, its columns or, if both have two, the numbers summed.
    """
    groups = a.shape[0] if a.dim() == b.dim() == 3 else 1
    return _flops(groups * a.shape[-2] * a.shape[-1] * b.shape[-1])


@moving("aten::sparse_sampled_addmm", step=PRODUCTS)
def sampled(target: Tensor, a: Tensor, b: Tensor, *, out: Tensor, **_: Argument) -> Cost:
    """Return the cost of a product of which only the numbers that `target` stores are wanted."""
    done, inner = 2 * _filled(target) * a.shape[-1], a.shape[-1]
    return Cost(useful=done, executed=done, dense=2 * prod(target.shape) * inner)


@moving("aten::mv", "aten::dot", "aten::vdot", step=PRODUCTS)
def vector(a: Tensor, *_: Argument, out: Tensor, **__: Argument) -> Cost:
    """Return the cost of a matrix or a vector times a vector."""
    return _multiply_adds(a, None, a.numel())


@moving("aten::addmv", "aten::addmv_", step=PRODUCTS)
def added_vector(_: Tensor, a: Tensor, __: Tensor, *, out: Tensor, **___: Argument) -> Cost:
    """Return the cost of a matrix times a vector that is added to something."""
    return vector(a, out=out) + Cost(elementwise=out.numel())


@moving("aten::addr", "aten::addr_", step=PRODUCTS)
def outer(*_: Tensor, out: Tensor, **__: Argument) -> Cost:
    """Return the cost of a product of a column and a row that is added to something."""
    return _flops(out.numel()) + Cost(elementwise=out.numel())


@moving("aten::_trilinear", step=PRODUCTS)
def trilinear(*args: Argument, out: Tensor, **_: Argument) -> Cost:
    """Return the cost of a bilinear layer and of its gradients.

    Two factors are multiplied over all axes; what is left after summing those axes that the third
    lacks is multiplied with the third.
    """
    factors, expanded, summed = args[:3], args[3:6], args[6]
    sizes = [
        max(_size(x, gone, axis) for x, gone in zip(factors, expanded, strict=True))
        for axis in range(factors[0].dim() + len(expanded[0]))
    ]
    early = set(summed) & set(expanded[2])
    left = prod(size for axis, size in enumerate(sizes) if axis not in early)
    return _flops(prod(sizes) + left)


@moving("aten::linear_backward", "aten::mkldnn_linear_backward", step=PRODUCTS)
def linear_backward(
    _: Tensor, grad: Tensor, weight: Tensor, mask: list[bool], *, out: Argument
) -> Cost:
    """Return the cost of the gradients of a linear layer that are asked for."""
    cost = _flops(sum(mask[:2]) * grad.numel() * weight.shape[-1])
    return cost + Cost(elementwise=grad.numel() if mask[2] else 0)


@moving("aten::matmul_backward", step=PRODUCTS)
def matmul_backward(grad: Tensor, a: Tensor, _: Tensor, mask: list[bool], *, out: Argument) -> Cost:
    """Return the cost of the gradients of a product that are asked for."""
    return _flops(sum(mask) * grad.numel() * a.shape[-1])


@moving("aten::_euclidean_dist", step=PRODUCTS)
def euclidean(a: Tensor, b: Tensor, *, out: Tensor) -> Cost:
    """Return the cost of all distances by one product of (-2x, |x|^2, 1) and (y, 1, |y|^2)."""
    squares = 2 * (a.numel() + b.numel())
    return _flops(out.numel() * (a.shape[-1] + 2)) + Cost(elementwise=squares + 2 * out.numel())


def biased(arguments: tuple[Argument, ...], out: Tensor) -> Cost:
    """Return the cost of adding the bias with which arguments begin, if they do."""
    given = bool(arguments) and isinstance(arguments[0], Tensor)
    return Cost(elementwise=out.numel() if given else 0)


def _flops(multiply_adds: int) -> Cost:
    return Cost.product(multiply_adds, 1, 1)


def _multiply_adds(a: Tensor, b: Tensor | None, dense: int) -> Cost:
    """Return the cost of a product of so many multiply-adds, if no factor were sparse."""
    factors = [x for x in (a, b) if x is not None and x.layout in _SPARSE]
    done = dense
    if len(factors) == 2:
        done = _meetings(*factors)
    elif factors and dense:
        done = _filled(factors[0]) * (dense // factors[0].numel())
    return Cost(useful=2 * done, executed=2 * done, dense=2 * dense)


def _filled(sparse: Tensor) -> int:
    """Return how many numbers a sparse tensor stores; a block is stored whole."""
    coordinates = sparse.layout is torch.sparse_coo
    return elements(sparse._values() if coordinates else sparse.values())


def _meetings(a: Tensor, b: Tensor) -> int:
    """Return how many numbers of two sparse matrices meet in their product."""
    inner = a.shape[1]
    columns = a.to_sparse_coo()._indices()[1].bincount(minlength=inner)
    rows = b.to_sparse_coo()._indices()[0].bincount(minlength=inner)
    return int(columns @ rows)


def _size(x: Tensor, expanded: list[int], axis: int) -> int:
    """Return the size of an axis of a tensor, 1 where it lacks the axis."""
    if axis in expanded:
        return 1
    return x.shape[axis - sum(gone < axis for gone in expanded)]
