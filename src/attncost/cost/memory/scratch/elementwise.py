"""What operations hold that treat each number alike: copies in the dtype that they compute in.

Operands of several dtypes are first copied, as they lie, to the one that they have in common; a
plain number becomes a tensor of its own 8 bytes (1 for a truth), and another one in that dtype. A
result in place of a lower dtype is computed beside it.
"""

from functools import cache
from typing import Final

import torch
from torch import Tensor

from attncost.cost.counting.formulas.names import aten
from attncost.cost.memory.registry import nothing, scratch
from attncost.cost.memory.scratch.copies import Argument, size
from attncost.cost.memory.scratch.onednn import takes

UNARY: Final = aten("""
    abs neg exp exp_ exp2 expm1 log log2 log1p sqrt sqrt_ rsqrt rsqrt_ sin cos tanh tanh_ sigmoid
    sigmoid_ relu relu_ gelu silu silu_ erf reciprocal reciprocal_ square ceil floor sign neg_
    logical_not bitwise_not isnan isneginf isposinf hardtanh elu softplus abs_
""")
BINARY: Final = aten("""
    add add_ sub sub_ mul mul_ div div_ rsub eq ne lt le gt ge maximum minimum remainder fmod
    floor_divide logical_and logical_or atan2 logaddexp
""")
BITS: Final = aten("""
    bitwise_and bitwise_or bitwise_xor bitwise_and_ bitwise_or_ bitwise_xor_
""")
SHIFTS: Final = aten("__lshift__ __rshift__ bitwise_left_shift bitwise_right_shift")
# Whose operands are of one dtype, or nobody has measured what they hold.
ALIKE: Final = aten("""
    addcmul addcmul_ addcdiv addcdiv_ lerp lerp_ clamp clamp_ clamp_min clamp_max
    threshold_backward silu_backward sigmoid_backward tanh_backward
""")
# Written as they are drawn, or where a mask says so.
DRAWN: Final = aten("bernoulli bernoulli_ normal_ uniform_ exponential_ masked_fill masked_fill_")

_NUMBERS: Final = {
    bool: torch.bool,
    int: torch.int64,
    float: torch.float64,
    complex: torch.complex128,
}

_ONES: Final = {dtype: kind(1) for kind, dtype in _NUMBERS.items()}

scratch(*DRAWN)(nothing)


@scratch(*UNARY)
def unary(x: Tensor, *_: Argument, out: Tensor, **__: Argument) -> int:
    """Return the bytes of an integer input in the dtype of a result that is none."""
    return size(x, _common(x.dtype, out)) if _common(x.dtype, out) != x.dtype else 0


@scratch(*BINARY, *BITS, *SHIFTS)
def binary(x: Argument, y: Argument, *_: Argument, out: Tensor, **__: Argument) -> int:
    """Return the bytes of operands, plain numbers included, in their common dtype."""
    common = _common(_promoted(x, y), out)
    # A truth is written as it is found; any other result is computed in the common dtype.
    beside = 0 if out.dtype in (common, torch.bool) else size(out, common)
    return beside + _cast(x, common) + _cast(y, common)


@scratch("aten::pow")
def power(x: Argument, exponent: Argument, *, out: Tensor, **_: Argument) -> int | None:
    """Return the same for a power, of which a plain exponent is never a tensor."""
    if not isinstance(x, Tensor):
        return None
    if isinstance(exponent, Tensor):
        return binary(x, exponent, out=out)
    common = _common(_promoted(x, exponent), out)
    return 0 if x.dtype == common else size(x, common)


@scratch("aten::where")
def where(_: Tensor, x: Argument, y: Argument, *, out: Tensor, **__: Argument) -> int:
    """Return the bytes of both choices in the dtype of the result, where they are not in it."""
    return sum(
        (size(choice, out.dtype) if choice.dtype != out.dtype else 0)
        if isinstance(choice, Tensor)
        else out.itemsize
        for choice in (x, y)
    )


@scratch(*ALIKE)
def alike(*given: Argument, out: Tensor, **_: Argument) -> int | None:
    """Return nothing, if all tensors are of one dtype."""
    tensors = [x for x in given if isinstance(x, Tensor)]
    return 0 if all(x.dtype == out.dtype for x in tensors) else None


@scratch("aten::gelu_backward")
def gelu_backward(
    grad: Tensor, x: Tensor, *_: Argument, out: Tensor, approximate: str = "none"
) -> int | None:
    """Return the bytes of a gradient laid out as the input is, and of its own gradient."""
    if grad.dtype != x.dtype:
        return None
    by_onednn = x.dtype in (torch.float32, torch.bfloat16) and takes(x.dtype)
    direct = not by_onednn or approximate != "none" or not x.is_contiguous()
    if direct or grad.is_contiguous():
        return 0
    return size(grad) + (0 if out.is_contiguous() else size(out))


@scratch("aten::native_dropout")
def dropout(x: Tensor, _: float, train: bool | None, *, out: Argument) -> int:
    """Return the bytes of the mask as numbers of the input's dtype."""
    return 0 if train is False else size(x)


def _promoted(x: Argument, y: Argument) -> torch.dtype:
    """Return the dtype that two operands have in common."""
    return _of_kinds(*(_NUMBERS.get(type(z)) or (z.dtype, z.dim() > 0) for z in (x, y)))


@cache
def _of_kinds(*kinds: torch.dtype | tuple[torch.dtype, bool]) -> torch.dtype:
    """Return the same for kinds: the dtype of a plain number, or that of a tensor, and its axes."""
    # Of a tensor without axes, or a plain number, only the kind of number decides.
    given = (
        torch.empty([1] * kind[1], dtype=kind[0]) if isinstance(kind, tuple) else _ONES[kind]
        for kind in kinds
    )
    return torch.result_type(*given)


def _common(dtype: torch.dtype, out: Tensor) -> torch.dtype:
    """Return the dtype that a function computes in which makes fractions of integers."""
    return out.dtype if out.dtype.is_floating_point and not dtype.is_floating_point else dtype


def _cast(x: Argument, common: torch.dtype) -> int:
    if isinstance(x, Tensor):
        return 0 if x.dtype == common else size(x, common)
    kept = _NUMBERS[type(x)]
    return kept.itemsize + (0 if kept == common else common.itemsize)
