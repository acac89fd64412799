"""The price of an operation by its kind: one for each number, a view, a copy, a list of operations.

PyTorch tags an operation that treats each number of its result alike as `pointwise`; it costs 1 for
each, whatever it computes. An operation in place is of the kind of the one that is not, and so are
the overloads that write into a given tensor. An operation on lists costs what it would one by one.
What PyTorch does not tag is listed here.
"""

from functools import cache
from typing import Any, Final

import torch
from torch._ops import OpOverload, OpOverloadPacket

from attncost.core.cost import Cost
from attncost.cost.counting.formulas.free import FREE, is_view
from attncost.cost.counting.formulas.movement import MOVEMENT
from attncost.cost.counting.formulas.names import aten
from attncost.cost.counting.formulas.traffic import Argument, elements, moving, traffic
from attncost.cost.counting.registry import ELEMENTWISE, Formula, Price, price, price_of

_LISTS: Final = "aten::_foreach_"
# Pointwise without the tag: gradients, and what makes its own numbers.
_UNTAGGED: Final = aten("""
    leaky_relu leaky_relu_ _conj_physical
    elu_backward glu_backward hardshrink_backward hardsigmoid_backward hardswish
    hardswish_ hardswish_backward hardtanh_backward leaky_relu_backward
    log_sigmoid_backward log_sigmoid_forward mish_backward softplus_backward
    softshrink_backward _prelu_kernel _prelu_kernel_backward rrelu_with_noise
    rrelu_with_noise_ rrelu_with_noise_backward rrelu_with_noise_functional glu _add_relu
    _add_relu_ _masked_scale copysign_ heaviside_ mse_loss_backward
    smooth_l1_loss_backward huber_loss_backward soft_margin_loss_backward
    binary_cross_entropy_backward multi_margin_loss_backward tril tril_ triu triu_
    linalg_cross complex polar quantize_per_tensor quantize_per_tensor_dynamic
    quantize_per_channel dequantize fake_quantize_per_tensor_affine_cachemask
    fake_quantize_per_channel_affine_cachemask
    _fake_quantize_per_tensor_affine_cachemask_tensor_qparams int_repr _amp_update_scale_
    isposinf isneginf isfinite addcmul addcdiv __ior__ __iand__ __ixor__ logit_backward
    affine_grid_generator masked_fill masked_fill_ floor_divide floor_divide_
    isin searchsorted bucketize
""")
_RANDOM: Final = aten("""
    bernoulli bernoulli_ normal normal_ normal_functional uniform uniform_ exponential
    exponential_ geometric geometric_ cauchy cauchy_ log_normal log_normal_ random random_
    rand rand_like randn randn_like randint randint_like randperm poisson binomial
    _standard_gamma _sample_dirichlet
""")


def pointwise(*args: Argument, out: Argument, **kwargs: Argument) -> Cost:
    """Return the cost of one operation for each number of the result."""
    return Cost(elementwise=elements(out), bytes=traffic((args, kwargs), out))


POINTWISE: Final = Price(ELEMENTWISE, pointwise)
_COPY: Final = Price(
    MOVEMENT, lambda *args, out, **kwargs: Cost(bytes=traffic((args, kwargs), out))
)

price(*_UNTAGGED, step=ELEMENTWISE)(pointwise)


@price(*_RANDOM, step=ELEMENTWISE)
def drawn(*_: Argument, out: Argument, **__: Argument) -> Cost:
    """Return the cost of drawing each number once; a target in place is not read."""
    return Cost(elementwise=elements(out), bytes=traffic((), out))


@moving("aten::native_dropout", "aten::_fused_dropout", step=ELEMENTWISE)
def dropout(x: Argument, *_: Argument, out: Argument, **__: Argument) -> Cost:
    """Return the cost of drawing, scaling and multiplying with a mask."""
    return Cost(elementwise=3 * x.numel())


def general_price(operation: Any) -> Price | None:  # noqa: ANN401 -- PyTorch has no type for all
    """Return the price of an operation by its kind; None if it is of none.

    An operation that PyTorch makes of others has no price of its own: it is those.
    """
    if not isinstance(operation, OpOverload) or _is_made_of_others(operation):
        return None
    if operation._schema.name.startswith(_LISTS):
        return _one_by_one(operation)
    if is_view(operation):
        return FREE
    if _is_pointwise(operation):
        return POINTWISE
    return _COPY if torch.Tag.view_copy in operation.tags else None


def _one_by_one(operation: OpOverload) -> Price | None:
    """Return the price of an operation on lists by that on their parts, if it has one."""
    name = operation._schema.name.removeprefix(_LISTS)
    # Not everything on lists that works in place does so on a single tensor.
    single = getattr(torch.ops.aten, name, None) or getattr(torch.ops.aten, name.rstrip("_"), None)
    if single is None:
        return None
    found = price_of(single) or (POINTWISE if _has_pointwise(single) else None)
    return found and Price(found.step, _each(found.formula))


def _each(formula: Formula) -> Formula:
    def priced(first: list[Any], *args: Argument, out: Argument, **kwargs: Argument) -> Cost:
        count = len(first)

        def part(argument: Argument, place: int) -> Argument:
            shared = not isinstance(argument, list | tuple) or len(argument) != count
            return argument if shared else argument[place]

        results = out or first
        total = Cost()
        for place in range(count):
            given = [part(argument, place) for argument in (first, *args)]
            named = {name: part(argument, place) for name, argument in kwargs.items()}
            total += formula(*given, out=results[place], **named)
        return total

    return priced


@cache
def _is_made_of_others(operation: OpOverload) -> bool:
    return operation._can_decompose()


@cache
def _is_pointwise(operation: OpOverload) -> bool:
    """Say whether an operation, an overload of it or its version not in place is pointwise."""
    if operation.namespace != "aten":  # whose overloads may do different things
        return torch.Tag.pointwise in operation.tags
    packet = operation.overloadpacket
    original = getattr(torch.ops.aten, packet.__name__.rstrip("_"), None)
    return _has_pointwise(packet) or (original is not None and _has_pointwise(original))


@cache
def _has_pointwise(packet: OpOverloadPacket) -> bool:
    return any(torch.Tag.pointwise in getattr(packet, name).tags for name in packet.overloads())
