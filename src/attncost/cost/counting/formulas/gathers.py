"""What operations cost that read, write or add at given places.

They touch the places that they are given: an embedding reads the rows that it takes and not its
whole table, a scatter in place leaves the rest alone. Adding at a place costs 1 for each number.
"""

from math import prod

import torch
from torch import Tensor

from attncost.core.cost import Cost
from attncost.cost.counting.formulas.movement import MOVEMENT
from attncost.cost.counting.formulas.traffic import Argument, elements, moving, stored, traffic
from attncost.cost.counting.registry import ELEMENTWISE, price


@price("aten::index", "aten::_unsafe_index", "aten::gather", "aten::index_select", step=MOVEMENT)
@price("aten::embedding", "aten::take", "aten::masked_select", step=MOVEMENT)
@price("aten::_unsafe_masked_index", step=MOVEMENT)
@price("aten::repeat_interleave", "aten::nonzero_static", step=MOVEMENT)
def gathered(source: Tensor, *places: Argument, out: Tensor, **_: Argument) -> Cost:
    """Return the cost of taking numbers at given places."""
    return Cost(bytes=traffic(places, out) + elements(out) * source.itemsize)


@price("aten::scatter_", "aten::index_copy_", step=MOVEMENT)
def scattered(
    x: Tensor, dim: int, index: Tensor, source: Argument, *_: Argument, **__: Argument
) -> Cost:
    """Return the cost of writing at given places."""
    # A slice is written for each place of an index of one axis, a number for any other.
    count = max(index.numel(), elements(source)) if index.dim() < x.dim() else index.numel()
    read = min(count * x.itemsize, traffic(source, ()))
    return Cost(bytes=stored(index) + read + count * x.itemsize)


@price("aten::scatter", "aten::index_copy", step=MOVEMENT)
def scattered_copy(
    x: Tensor, dim: int, index: Tensor, source: Argument, *_: Argument, **rest: Argument
) -> Cost:
    """Return the cost of a copy, and of writing into it at given places."""
    return scattered(x, dim, index, source) + Cost(bytes=traffic(x, rest["out"]))


@price("aten::index_put_", "aten::_index_put_impl_", step=MOVEMENT)
def put(
    x: Tensor,
    places: list[Tensor | None],
    values: Tensor,
    add: bool = False,
    *_: Argument,
    **__: Argument,
) -> Cost:
    """Return the cost of writing at given places, or of adding there."""
    count = _places(x, places)
    return Cost(
        elementwise=count if add else 0,
        bytes=traffic(places, values) + (1 + add) * count * x.itemsize,
    )


@price("aten::index_put", "aten::_unsafe_index_put", step=MOVEMENT)
def put_copy(
    x: Tensor, places: list[Tensor | None], values: Tensor, add: bool = False, **rest: Argument
) -> Cost:
    """Return the cost of a copy, and of writing into it at given places."""
    return put(x, places, values, add) + Cost(bytes=traffic(x, rest["out"]))


@price("aten::nll_loss_forward", "aten::nll_loss2d_forward", step=ELEMENTWISE)
def nll_loss(x: Tensor, target: Tensor, *_: Argument, out: Argument) -> Cost:
    """Return the cost of a loss that reads one number for each target."""
    count = target.numel()
    return Cost(elementwise=count, bytes=count * x.itemsize + traffic(target, out))


@price("aten::nll_loss_backward", "aten::nll_loss2d_backward", step=ELEMENTWISE)
def nll_loss_backward(grad: Tensor, x: Tensor, target: Tensor, *_: Argument, out: Argument) -> Cost:
    """Return the cost of a gradient that is 0 but for one number for each target."""
    return Cost(elementwise=target.numel(), bytes=traffic((grad, target), out))


@price("aten::_embedding_bag", "aten::_embedding_bag_forward_only", step=ELEMENTWISE)
def embedding_bag(weight: Tensor, indices: Tensor, *_: Argument, out: Argument) -> Cost:
    """Return the cost of adding up rows of a table, of which only those are read."""
    read = indices.numel() * weight.shape[1]
    return Cost(elementwise=read, bytes=read * weight.itemsize + traffic(indices, out))


@moving("aten::_embedding_bag_backward", "aten::_embedding_bag_dense_backward", step=ELEMENTWISE)
def embedding_bag_backward(grad: Tensor, indices: Tensor, *_: Argument, out: Tensor) -> Cost:
    """Return the cost of adding the gradient of a bag to every row in it."""
    return Cost(elementwise=indices.numel() * grad.shape[1])


@moving("aten::embedding_dense_backward", step=ELEMENTWISE)
def embedding_backward(grad: Tensor, *_: Argument, out: Tensor) -> Cost:
    """Return the cost of adding each gradient to a row of the table's."""
    return Cost(elementwise=grad.numel())


@price("aten::index_add", "aten::index_reduce", step=ELEMENTWISE)
def index_add(
    x: Tensor, dim: int, index: Tensor, source: Tensor, *_: Argument, **rest: Argument
) -> Cost:
    """Return the cost of a copy to which slices are added."""
    return index_add_in_place(x, dim, index, source) + Cost(bytes=traffic(x, rest["out"]))


@price("aten::index_add_", "aten::index_reduce_", step=ELEMENTWISE)
def index_add_in_place(
    x: Tensor, dim: int, index: Tensor, source: Tensor, *_: Argument, **__: Argument
) -> Cost:
    """Return the cost of adding slices, which alone are read and written."""
    return _added(x, source.numel(), index, source)


@price("aten::scatter_add", "aten::scatter_reduce", step=ELEMENTWISE)
def scatter_add(
    x: Tensor, dim: int, index: Tensor, source: Tensor, *_: Argument, **rest: Argument
) -> Cost:
    """Return the cost of a copy to which numbers are added."""
    return scatter_add_in_place(x, dim, index, source) + Cost(bytes=traffic(x, rest["out"]))


@price("aten::scatter_add_", "aten::scatter_reduce_", step=ELEMENTWISE)
def scatter_add_in_place(
    x: Tensor, dim: int, index: Tensor, source: Tensor, *_: Argument, **__: Argument
) -> Cost:
    """Return the cost of adding numbers at given places, which alone are read and written."""
    return _added(x, index.numel(), index, source)


def _added(x: Tensor, count: int, index: Tensor, source: Tensor) -> Cost:
    read = min(count * source.itemsize, stored(source)) + stored(index)
    return Cost(elementwise=count, bytes=read + 2 * count * x.itemsize)


def _places(x: Tensor, places: list[Tensor | None]) -> int:
    """Return how many numbers indices show; a mask is taken to show all, as its values may not."""
    given = [index for index in places if index is not None]
    if any(index.dtype in (torch.bool, torch.uint8) for index in given):
        return x.numel()
    whole = [
        size for axis, size in enumerate(x.shape) if axis >= len(places) or places[axis] is None
    ]
    shown = torch.broadcast_shapes(*(index.shape for index in given))
    return prod((*shown, *whole))
