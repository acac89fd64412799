"""What copies and new tensors hold: nothing, but for a few."""

from typing import Final

from torch import Tensor

from attncost.cost.counting.formulas.names import aten
from attncost.cost.memory.registry import nothing, scratch
from attncost.cost.memory.scratch.copies import Argument, copied, size

COPIES: Final = aten("""
    clone _to_copy copy_ stack roll flip constant_pad_nd slice_backward select_backward zero_
""")
NEW: Final = aten("""
    empty empty_like empty_strided new_empty new_empty_strided zeros zeros_like new_zeros ones
    ones_like new_ones full full_like new_full arange linspace eye scalar_tensor rand rand_like
    randn randn_like randint
""")
# New to autograd, but no new memory.
SHARED: Final = aten("_unsafe_view lift_fresh detach _local_scalar_dense")

# What one step of the loop over axes keeps.
_AXIS: Final = 32

scratch(*COPIES, *NEW, *SHARED)(nothing)


@scratch("aten::fill_")
def filled(_: Tensor, value: Argument, *, out: Tensor) -> int | None:
    """Return nothing, if it is filled with a plain number."""
    return None if isinstance(value, Tensor) else 0


@scratch("aten::cat")
def cat(tensors: list[Tensor], dim: int = 0, *, out: Tensor) -> int | None:
    """Return nothing, if all are of one dtype."""
    return 0 if all(x.dtype == out.dtype for x in tensors) else None


@scratch("aten::repeat")
def repeat(_: Tensor, repeats: list[int], *, out: Tensor) -> int:
    """Return the bytes of the sizes that a repetition keeps."""
    return _AXIS * len(repeats)


@scratch("aten::tril", "aten::triu")
def triangle(x: Tensor, *_: Argument, out: Tensor, **__: Argument) -> int:
    """Return the bytes of a copy, if the matrices do not follow one another."""
    if x.is_contiguous() or x.dim() <= 3:
        return 0
    step, (first, *inner) = x.shape[-1] * x.shape[-2], range(x.dim() - 2)
    for axis in reversed(inner):
        if x.stride(axis) != step:
            return size(x)
        step *= x.shape[axis]
    apart = x.stride(first) not in (0, step) and x.shape[first] != 1
    return copied(x) if apart else 0
