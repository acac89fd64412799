"""Convolutions and their gradients, against PyTorch's counter and against loops."""

from itertools import product

import pytest
import torch
from tests.cost.counting.pricing import cost_of
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

# Axes, transposed, and options of a convolution of 4 channels into 8.
CASES = [
    (axes, transposed, options)
    for axes, transposed in product((1, 2, 3), (False, True))
    for options in (
        {},
        {"padding": 1},
        {"stride": 2},
        {"dilation": 2, "padding": 2},
        {"groups": 2},
        {"groups": 4},
    )
]


def convolution(axes, transposed, options, device="cpu"):
    """Return a call of a convolution, input, weight and bias."""
    generator = torch.Generator().manual_seed(0)
    groups = options.get("groups", 1)
    channels = (4, 8 // groups) if transposed else (8, 4 // groups)
    x = torch.randn(2, 4, *(7, 6, 5)[:axes], generator=generator)
    weight = torch.randn(*channels, *(3, 2, 3)[:axes], generator=generator)
    x, weight, bias = (t.to(device).requires_grad_() for t in (x, weight, torch.zeros(8)))
    function = getattr(functional, f"conv{'_transpose' if transposed else ''}{axes}d")
    return lambda: function(x, weight, bias, **options), x, weight, bias


def peers(call):
    with FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


@pytest.mark.parametrize(("axes", "transposed", "options"), CASES)
def test_a_convolution_costs_what_pytorch_counts(axes, transposed, options):
    call, *_ = convolution(axes, transposed, options)
    cost = cost_of(call)
    assert cost.dense == cost.useful == cost.executed == peers(call) > 0


@pytest.mark.parametrize(("axes", "transposed", "options"), CASES)
def test_a_convolution_multiplies_as_often_as_one_of_ones_sums_up(axes, transposed, options):
    call, x, weight, _ = convolution(axes, transposed, options)
    # Padding is multiplied like data: ones around the input, or nothing cut off the result.
    padding = 0 if transposed else options.get("padding", 0)
    ones = torch.ones_like(functional.pad(x, [padding] * 2 * axes))
    function = getattr(functional, f"conv{'_transpose' if transposed else ''}{axes}d")
    summed = function(ones, torch.ones_like(weight), **(options | {"padding": 0})).sum()
    assert cost_of(call).dense == 2 * summed


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize(("axes", "transposed", "options"), CASES)
def test_each_gradient_costs_one_convolution(axes, transposed, options, device):
    call, *tensors = convolution(axes, transposed, options, device)
    once, grad = cost_of(call), torch.ones_like(call())
    for wanted in ([0], [1], [2], [0, 1], [0, 1, 2]):
        out = call()
        found = cost_of(
            lambda out=out, wanted=wanted: torch.autograd.grad(
                out, [tensors[i] for i in wanted], grad
            )
        )
        assert found.dense == once.dense * (len(wanted) - (2 in wanted))
        assert found.elementwise == (grad.numel() if 2 in wanted else 0)


def test_gradients_cost_what_pytorch_counts_where_there_are_no_groups():
    call, *_ = convolution(2, False, {"padding": 1})
    backward = lambda: call().sum().backward()  # noqa: E731
    assert cost_of(backward).dense == peers(backward)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_a_convolution_costs_the_same_without_gradients(mode):
    call, *_ = convolution(2, False, {"groups": 2})
    trained = cost_of(call)
    with mode():
        assert cost_of(call) == trained


def test_a_convolution_moves_input_weight_bias_and_result_once():
    call, x, weight, bias = convolution(2, False, {"stride": 2})
    numbers = sum(t.numel() for t in (x, weight, bias, call()))
    assert cost_of(call).bytes == 4 * numbers
    assert cost_of(call).elementwise == call().numel()


def test_a_depthwise_convolution_costs_one_filter_a_channel():
    x, weight = torch.randn(1, 6, 8, 8), torch.randn(6, 1, 3, 3)
    assert cost_of(lambda: functional.conv2d(x, weight, groups=6)).dense == 2 * 6 * 9 * 6 * 6


def test_a_convolution_over_time_first_costs_what_the_usual_one_does():
    x, weight = torch.randn(9, 2, 4), torch.randn(3, 4, 8)
    usual = cost_of(
        lambda: functional.conv1d(x.permute(1, 2, 0), weight.permute(2, 1, 0), padding=1)
    )
    found = cost_of(lambda: functional.conv_tbc(x, weight, torch.zeros(8), 1))
    assert found.dense == usual.dense
