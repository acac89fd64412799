"""Gradients agree with finite differences, for all options at once and twice in the reference."""

import pytest
import torch
from tests.kernels.attend import attend, every_kernel, every_plain_kernel
from tests.kernels.corners import qkv_of
from tests.kernels.wishes import EVERY, honoured, wishes

from attncost import Causal, Full, Window, attention, patterns

SMALL = [Full(), Causal(), Window(3, ahead=1), patterns.pattern("strided", stride=2)]


def function(kernel, pattern, options):
    """Return attention as a function of all that has a gradient, and that."""
    learned = [name for name, x in options.items() if getattr(x, "requires_grad", False)]

    def call(q, k, v, *numbers):
        with torch.random.fork_rng():
            torch.manual_seed(5)
            changed = options | dict(zip(learned, numbers, strict=True))
            return attention(q, k, v, pattern, kernel=kernel, **changed)

    return call, [options[name] for name in learned]


@every_kernel
@pytest.mark.parametrize(("n", "m"), [(3, 7), (7, 4)])
@pytest.mark.parametrize("pattern", SMALL, ids=str)
def test_they_agree_with_finite_differences(kernel, pattern, n, m):
    qkv = qkv_of(n, m, features=(3, 2))
    options = wishes(*honoured(kernel, pattern), n=n, m=m)
    if "dropout_p" in honoured(kernel, pattern, ("dropout_p",)):
        options["dropout_p"] = 0.25
    call, learned = function(kernel, pattern, options)
    assert torch.autograd.gradcheck(call, (*qkv, *learned), fast_mode=True)


@pytest.mark.parametrize("pattern", SMALL, ids=str)
@pytest.mark.parametrize("options", [(), EVERY], ids=["plain", "all options"])
def test_the_reference_can_be_differentiated_twice(pattern, options):
    qkv = qkv_of(4, 5, heads=(2, 1), features=(3, 2), batch=1)
    options = wishes(*options, n=4, m=5, heads=2, batch=1)
    call, learned = function("reference", pattern, options)
    assert torch.autograd.gradgradcheck(call, (*qkv, *learned), fast_mode=True)


@every_plain_kernel
def test_a_second_derivative_is_right_or_refused_and_never_silently_zero(kernel):
    q, k, v = qkv_of(6, 6)

    def twice(out):
        (first,) = torch.autograd.grad(out.square().sum(), q, create_graph=True)
        return torch.autograd.grad(first.square().sum(), (q, k, v))

    exact = twice(attention(q, k, v, Causal(), kernel="reference"))
    out = attend(kernel, q, k, v, Causal())
    try:
        found = twice(out)
    except RuntimeError as refusal:
        pytest.skip(f"refused: {refusal}")
    torch.testing.assert_close(found, exact)


@every_plain_kernel
@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 2)], ids=["q", "k", "v", "q and v"])
def test_only_the_gradients_that_are_wanted_are_asked_for(kernel, wanted):
    qkv = [x.detach().requires_grad_(i in wanted) for i, x in enumerate(qkv_of(60, 70))]
    leaves = [qkv[i] for i in wanted]
    expected = attention(*qkv, Window(16), kernel="reference")
    out = attend(kernel, *qkv, Window(16))
    torch.testing.assert_close(
        torch.autograd.grad(out.square().sum(), leaves),
        torch.autograd.grad(expected.square().sum(), leaves),
    )


@every_plain_kernel
def test_nothing_is_recorded_where_no_gradient_is_wanted(kernel):
    qkv = qkv_of(60, 70)
    assert not attend(kernel, *(x.detach() for x in qkv), Window(16)).requires_grad
    with torch.no_grad():
        assert not attend(kernel, *qkv, Window(16)).requires_grad
    with torch.inference_mode():
        assert attend(kernel, *qkv, Window(16)).is_inference()
