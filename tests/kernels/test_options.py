"""Every option, alone and with all others, is honoured as the definition says, with gradients."""

import math

import pytest
import torch
from tests.kernels.attend import ELSEWHERE, attend, every_kernel, every_plain_kernel
from tests.kernels.corners import ONE_EACH, qkv_of, with_gradients
from tests.kernels.wishes import EVERY, honoured, needed, wishes
from tests.oracle import definition

from attncost import Causal, Full, UnsupportedOption, Window, attention

every_kind = pytest.mark.parametrize("pattern", [Full(), Causal(), Window(16, ahead=4)], ids=str)
SIZES = [(70, 70), (30, 150), (150, 70)]


def assert_exact(kernel, pattern, n, m, options):
    qkv = qkv_of(n, m)
    tensors = [*qkv, *options.values()]
    found = with_gradients(attend(kernel, *qkv, pattern, **options), tensors)
    exact, _ = definition(*qkv, pattern.mask(n, m), **options)
    torch.testing.assert_close(found, with_gradients(exact, tensors))


@every_kernel
@every_kind
@pytest.mark.parametrize("wish", EVERY)
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_each_alone_has_the_values_and_gradients_of_the_definition(kernel, pattern, wish, n, m):
    needs = needed(kernel, pattern)
    assert_exact(kernel, pattern, n, m, wishes(*{*needs, wish}, n=n, m=m))


@every_kernel
@pytest.mark.parametrize("pattern", ONE_EACH, ids=str)
@pytest.mark.parametrize(("n", "m"), [*SIZES, (1, 40), (0, 5), (5, 0), (1, 1)])
def test_all_that_a_kernel_honours_together_too(kernel, pattern, n, m):
    names = honoured(kernel, pattern)
    assert_exact(kernel, pattern, n, m, wishes(*names, n=n, m=m))


@every_kernel
@every_kind
@pytest.mark.parametrize("wish", [None, *EVERY])
def test_log_sum_exp_is_that_of_the_scores_without_the_sink(kernel, pattern, wish):
    n, m = 60, 50
    options = wishes(*honoured(kernel, pattern, EVERY if wish is None else (wish,)), n=n, m=m)
    qkv = qkv_of(n, m)
    out, lse = attend(kernel, *qkv, pattern, return_lse=True, **options)
    exact, exact_lse = definition(*qkv, pattern.mask(n, m), **options)
    torch.testing.assert_close((out, lse), (exact, exact_lse.detach()))
    assert not lse.requires_grad


@every_kernel
@pytest.mark.parametrize("pattern", ONE_EACH, ids=str)
def test_asking_for_the_log_sum_exp_changes_no_value_and_no_gradient(kernel, pattern):
    qkv = qkv_of(60, 70)
    options = wishes(*honoured(kernel, pattern), n=60, m=70)
    tensors = [*qkv, *options.values()]
    out, lse = attend(kernel, *qkv, pattern, return_lse=True, **options)
    with_it = with_gradients(out, tensors)
    torch.testing.assert_close(
        with_it, with_gradients(attend(kernel, *qkv, pattern, **options), tensors)
    )
    assert lse.shape == (2, 4, 60)


@every_plain_kernel
@every_kind
def test_the_log_sum_exp_of_a_row_that_reads_nothing_is_minus_infinity(kernel, pattern):
    hidden = torch.tensor([[False] * 40, [True] * 40])
    _, lse = attend(kernel, *qkv_of(60, 40), pattern, key_mask=hidden, return_lse=True)
    assert (lse[0] == -math.inf).all()
    assert torch.equal(lse[1].isneginf(), (~pattern.mask(60, 40)).all(-1).expand(4, 60))


@every_plain_kernel
@every_kind
@pytest.mark.parametrize("shape", [(2, 4, 60, 50), (1, 1, 1, 50), (2, 1, 60, 1)], ids=str)
def test_a_bias_of_minus_infinity_hides_a_pair(kernel, pattern, shape, generator):
    n, m = 60, 50
    bias = torch.randn(shape, dtype=torch.float64, generator=generator)
    bias = bias.masked_fill(torch.rand(shape, generator=generator) < 0.3, -math.inf)
    bias[-1, -1, -1] = -math.inf
    assert_exact(kernel, pattern, n, m, {"bias": bias.requires_grad_()})


@every_plain_kernel
@every_kind
@pytest.mark.parametrize("value", [math.nan, math.inf, 1e300])
def test_a_bias_of_pairs_that_are_not_read_changes_nothing(kernel, pattern, value):
    n, m, qkv = 60, 50, qkv_of(60, 50)
    bias = wishes("bias", n=n, m=m)["bias"]
    spoilt = bias.detach().masked_fill(~pattern.mask(n, m), value).requires_grad_()
    clean = with_gradients(attend(kernel, *qkv, pattern, bias=bias), [*qkv, bias])
    dirty = with_gradients(attend(kernel, *qkv, pattern, bias=spoilt), [*qkv, spoilt])
    assert all(map(torch.equal, clean, dirty))


@every_plain_kernel
@every_kind
def test_a_sink_takes_weight_but_never_fills_a_row_that_reads_nothing(kernel, pattern):
    qkv, sink = qkv_of(60, 40), torch.tensor([-30.0, 0.0, 3.0, 700.0], dtype=torch.float64)
    plain = attend(kernel, *qkv, pattern)
    out = attend(kernel, *qkv, pattern, sink=sink)
    empty = (~pattern.mask(60, 40)).all(-1)
    assert not out[:, :, empty].any()
    torch.testing.assert_close(out[:, 0], plain[:, 0])
    assert (out[:, 1].abs() <= plain[:, 1].abs()).all()
    assert out[:, 3].abs().max() < 1e-200


@every_plain_kernel
@pytest.mark.parametrize("softcap", [1e-3, 1e6])
def test_a_wide_softcap_is_none_and_a_narrow_one_makes_a_mean(kernel, softcap):
    q, k, v = qkv_of(60, 50)
    out = attend(kernel, q, k, v, softcap=softcap)
    plain = attend(kernel, q if softcap > 1 else q * 0, k, v)
    torch.testing.assert_close(out, plain, atol=2e-3 if softcap < 1 else 1e-8, rtol=0)


@every_kernel
@every_kind
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("own", [True, False], ids=["of the same type", "in float64"])
def test_options_of_another_float_type_are_welcome(kernel, pattern, dtype, own):
    n, m = 60, 50
    qkv = [x.detach().to(dtype).requires_grad_() for x in qkv_of(n, m)]
    names = honoured(kernel, pattern)
    options = {
        name: value.detach().to(dtype if own else value.dtype).requires_grad_()
        if isinstance(value, torch.Tensor) and value.is_floating_point()
        else value
        for name, value in wishes(*names, n=n, m=m).items()
    }
    tensors = [*qkv, *options.values()]
    found = with_gradients(attend(kernel, *qkv, pattern, **options), tensors)
    doubles = [
        x.detach().double().requires_grad_()
        if isinstance(x, torch.Tensor) and x.is_floating_point()
        else x
        for x in tensors
    ]
    exact, _ = definition(
        *doubles[:3], pattern.mask(n, m), **dict(zip(names, doubles[3:], strict=True))
    )
    wanted = [x.dtype for x in tensors if isinstance(x, torch.Tensor) and x.requires_grad]
    assert [x.dtype for x in found] == [dtype, *wanted]
    tolerance = 1e-5 if dtype == torch.float32 else 5e-2
    for one, other in zip(found, with_gradients(exact, doubles), strict=True):
        scale = max(1.0, float(other.abs().max()))
        torch.testing.assert_close(
            one.double() / scale, other / scale, atol=tolerance, rtol=tolerance
        )


@pytest.mark.parametrize("kernel", ELSEWHERE)
def test_a_kernel_for_another_device_says_so(kernel):
    with pytest.raises(UnsupportedOption, match=rf"'{kernel}' cannot honour .*, not (for|on) cpu"):
        attention(*qkv_of(2, 2), kernel=kernel)
