"""Faults that people have reported of attention elsewhere, each under the property it breaks."""

import math

import pytest
import torch
from tests.kernels.attend import attend, every_kernel, every_plain_kernel
from tests.kernels.corners import cotangent, qkv_of, with_gradients
from tests.oracle import definition

from attncost import Causal, Full, Window, attention, patterns


def finite(tensors):
    return all(bool(x.isfinite().all()) for x in tensors)


@every_plain_kernel
def test_rows_that_a_mask_hides_altogether_are_zero_and_the_rest_is_finite(kernel):
    """pytorch/pytorch, issue 103963; huggingface/transformers, issues 38690 and 31035."""
    qkv = qkv_of(8, 8, batch=1)
    rule = patterns.load("custom")(lambda query, key: (query < 4) & (key < 4))
    out, *gradients = with_gradients(attend(kernel, *qkv, rule), qkv)
    assert not out[:, :, 4:].any()
    assert out[:, :, :4].all()
    assert finite([out, *gradients])


@every_plain_kernel
@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("place", ["k", "v", "both"])
def test_what_a_masked_out_key_holds_does_not_leak(kernel, value, place):
    """pytorch/pytorch, issue 101967."""
    q, k, v = qkv_of(6, 6)
    key_mask = torch.arange(6).ne(3).expand(2, 6)
    spoilt = [q, *(x.detach().clone().requires_grad_() for x in (k, v))]
    for name, x in zip("kv", spoilt[1:], strict=True):
        if place in (name, "both"):
            x.data[:, :, 3] = value
    clean = with_gradients(attend(kernel, q, k, v, key_mask=key_mask), [q, k, v])
    dirty = with_gradients(attend(kernel, *spoilt, key_mask=key_mask), spoilt)
    assert all(map(torch.equal, clean, dirty))


@every_plain_kernel
@pytest.mark.parametrize("m", [1, 4, 6, 300])
def test_one_query_with_a_cache_reads_all_of_it_under_a_causal_pattern(kernel, m):
    """pytorch/pytorch, issues 103082 and 108108: the last query stands at the last key."""
    q, k = torch.zeros(1, 1, 1, 8), torch.zeros(1, 1, m, 8)
    out = attend(kernel, q, k, torch.eye(m)[None, None], Causal())
    torch.testing.assert_close(out, torch.full((1, 1, 1, m), 1 / m))


@every_plain_kernel
@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(5)], ids=str)
def test_queries_that_are_nan_stay_nan_and_spoil_no_other_row(kernel, pattern):
    """pytorch/pytorch, issue 141128: they must not be hidden."""
    q, k, v = (x.detach() for x in qkv_of(70, 70))
    clean, spoilt = attend(kernel, q, k, v, pattern), q.clone()
    spoilt[:, :, [0, 20, 69]] = math.nan
    out = attend(kernel, spoilt, k, v, pattern)
    others = torch.ones(70, dtype=torch.bool)
    others[[0, 20, 69]] = False
    assert out[:, :, ~others].isnan().all()
    assert torch.equal(out[:, :, others], clean[:, :, others])


@every_plain_kernel
@pytest.mark.parametrize("pattern", [Full(), Causal()], ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_causal_is_causal_in_training_and_in_evaluation(kernel, pattern, training):
    """pytorch/pytorch, issue 99282: with gradients off another path took over."""
    qkv = qkv_of(60, 60)
    with torch.set_grad_enabled(training):
        out = attend(kernel, *qkv, pattern)
    torch.testing.assert_close(out.detach(), definition(*qkv, pattern.mask(60, 60))[0].detach())


@every_plain_kernel
def test_one_head_whose_bias_hides_everything_leaves_the_others_finite(kernel):
    """pytorch/pytorch, issue 160064: and asking for more than the output changes nothing."""
    qkv, bias = qkv_of(9, 9, heads=(3, 3)), torch.zeros(1, 3, 9, 9, dtype=torch.float64)
    bias[:, 2] = -math.inf
    bias.requires_grad_()
    tensors = [*qkv, bias]
    out, *gradients = with_gradients(attend(kernel, *qkv, bias=bias), tensors)
    assert not out[:, 2].any()
    torch.testing.assert_close(out[:, :2], attention(*qkv).detach()[:, :2])
    assert finite(gradients)
    asked, lse = attend(kernel, *qkv, bias=bias, return_lse=True)
    torch.testing.assert_close(asked.detach(), out)
    assert lse[:, 2].isneginf().all()


@every_plain_kernel
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_and_causal_together_are_finite_and_right(kernel, dtype, training, side):
    """pytorch/pytorch, issues 118628 and 100709; huggingface/transformers, pull request 45811."""
    qkv = [x.detach().to(dtype).requires_grad_() for x in qkv_of(5, 5, heads=(2, 2), batch=3)]
    position = torch.arange(5) if side == "left" else torch.arange(4, -1, -1)
    key_mask = position >= torch.tensor([[0], [2], [5]])
    with torch.set_grad_enabled(training):
        out = attend(kernel, *qkv, Causal(), key_mask=key_mask)
    exact, _ = definition(*(x.double() for x in qkv), Causal().mask(5, 5), key_mask=key_mask)
    assert finite([out])
    tolerance = 1e-5 if dtype == torch.float32 else 3e-2
    torch.testing.assert_close(out, exact.to(dtype), atol=tolerance, rtol=tolerance)
    assert not training or finite(torch.autograd.grad(out, qkv, cotangent(out)))


@every_plain_kernel
def test_a_column_padded_in_every_sequence_shortens_nothing(kernel):
    """pytorch/pytorch, issue 97111."""
    qkv = qkv_of(6, 6, batch=5)
    out = attend(kernel, *qkv, key_mask=(torch.arange(6) < 4).expand(5, 6))
    assert out.shape == (5, 4, 6, 5)


@every_kernel
def test_a_batch_of_one_sequence_keeps_its_axis(kernel):
    """pytorch/pytorch, issue 130196."""
    segments = torch.zeros(1, 8, dtype=torch.long)
    assert attend(kernel, *qkv_of(8, 8, batch=1), segments=segments).shape == (1, 4, 8, 5)
    assert attend(kernel, *qkv_of(1, 1, heads=(1, 1), batch=1)).shape == (1, 1, 1, 5)


def test_whatever_the_pattern_training_on_a_cpu_needs_no_other_kernel():
    """pytorch/pytorch, issues 148752 and 169224: flex attention has no gradients there."""
    qkv = qkv_of(60, 60)
    rule = patterns.load("custom")(lambda query, key: (query * key) % 3 == 0)
    tensors = with_gradients(attention(*qkv, rule), qkv)
    exact = with_gradients(definition(*qkv, rule.mask(60, 60))[0], qkv)
    torch.testing.assert_close(tensors, exact)


@every_plain_kernel
@pytest.mark.parametrize("n", [300, 256, 65, 30])
def test_blocks_along_the_diagonal_are_right_where_the_last_one_is_cut_off(kernel, n):
    """pytorch/pytorch, issue 141126: blocks of 64 in 300 tokens."""
    qkv, blocks = qkv_of(n, n), patterns.load("block")(64)
    assert torch.equal(blocks.mask(n, n), same(torch.arange(n) // 64))
    found = with_gradients(attend(kernel, *qkv, blocks), qkv)
    exact = definition(*qkv, same(torch.arange(n) // 64))[0]
    torch.testing.assert_close(found, with_gradients(exact, qkv))


def same(block):
    return block[:, None] == block


@every_plain_kernel
@pytest.mark.parametrize(("width", "token"), [(5, 20), (1, 20), (16, 7), (64, 299)])
def test_a_window_reads_exactly_its_width_and_no_older_key(kernel, width, token):
    """lucidrains/local-attention, issues 3 and 5; huggingface/transformers, pull request 26792."""
    n = 300
    q, values = torch.zeros(1, 1, n, 8), torch.eye(n)[None, None]
    out = attend(kernel, q, q, values, Window(width))[0, 0, token]
    keys = min(token + 1, width)
    expected = torch.zeros(n)
    expected[token - keys + 1 : token + 1] = 1 / keys
    torch.testing.assert_close(out, expected)


@every_plain_kernel
@pytest.mark.parametrize("by", ["pattern", "bias"])
def test_rows_far_from_the_first_keys_are_right_where_whole_blocks_before_are_hidden(kernel, by):
    """The running maximum of a row is minus infinity after its first 512 keys."""
    qkv = [x.detach().float().requires_grad_() for x in qkv_of(640, 640, batch=1)]
    reads = Window(10).mask(640, 640)
    bias = torch.zeros(640, 640).masked_fill(~reads, -math.inf)[None, None]
    wishes = {"bias": bias} if by == "bias" else {"pattern": Window(10)}
    found = with_gradients(attend(kernel, *qkv, **wishes), qkv)
    doubles = [x.detach().double().requires_grad_() for x in qkv]
    exact = with_gradients(definition(*doubles, reads)[0], doubles)
    for one, other in zip(found, exact, strict=True):
        torch.testing.assert_close(one.double(), other, atol=1e-5, rtol=1e-5)


@every_plain_kernel
@pytest.mark.parametrize("n", [1, 2, 7, 30, 63, 65, 129, 250])
def test_keys_that_fill_up_the_last_block_are_not_read(kernel, n):
    """local-attention averages over zeros at lengths that are no multiple of its window."""
    qkv = qkv_of(n, n)
    pattern = Window(17, ahead=8)
    found = with_gradients(attend(kernel, *qkv, pattern), qkv)
    distance = torch.arange(n)[:, None] - torch.arange(n)
    exact = definition(*qkv, distance.abs() <= 8)[0]
    torch.testing.assert_close(found, with_gradients(exact, qkv))


@every_plain_kernel
@pytest.mark.parametrize("name", ["causal", "window", "strided", "fixed"])
def test_the_past_does_not_depend_on_the_future(kernel, name):
    """lucidrains/performer-pytorch, issue 82."""
    q, k, v = (x.detach() for x in qkv_of(64, 64))
    later = torch.arange(64)[:, None] >= 40
    changed = [torch.where(later, 2 * x + 1, x) for x in (q, k, v)]
    pattern = patterns.load(name)()
    before, after = attend(kernel, q, k, v, pattern), attend(kernel, *changed, pattern)
    assert torch.equal(before[:, :, :40], after[:, :, :40])
    assert not torch.equal(before, after)


@every_plain_kernel
@pytest.mark.parametrize(("n", "m"), [(7, 3), (300, 10), (300, 1)])
@pytest.mark.parametrize("pattern", [Causal(), Window(2)], ids=str)
def test_more_queries_than_keys_leave_zero_rows_and_finite_gradients(kernel, pattern, n, m):
    """Dao-AILab/flash-attention, issue 443; facebookresearch/xformers, issue 360."""
    qkv = qkv_of(n, m)
    out, *gradients = with_gradients(attend(kernel, *qkv, pattern), qkv)
    assert not out[:, :, : n - m].any()
    assert out[:, :, n - m :].any(-1).all()
    assert finite(gradients)


@every_plain_kernel
def test_a_window_over_nothing_but_padding_is_zero_with_finite_gradients(kernel):
    """idiap/fast-transformers, issue 37."""
    qkv = qkv_of(128, 128)
    key_mask = torch.arange(128).expand(2, 128) < torch.tensor([[30], [128]])
    out, *gradients = with_gradients(attend(kernel, *qkv, Window(16), key_mask=key_mask), qkv)
    assert not out[0, :, 45:].any()
    assert out[0, :, :45].any(-1).all()
    assert finite(gradients)


@every_kernel
@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(16, ahead=3)], ids=str)
def test_a_packed_document_is_what_it_is_alone(kernel, pattern):
    """huggingface/nanoVLM, pull request 204: positions that start anew isolate nothing."""
    lengths = [30, 1, 64, 25]
    qkv = [x.detach() for x in qkv_of(120, 120, batch=1)]
    segments = torch.repeat_interleave(torch.arange(4), torch.tensor(lengths))[None]
    packed = attend(kernel, *qkv, pattern, segments=segments)
    alone = [
        attention(*one, pattern) for one in zip(*(x.split(lengths, 2) for x in qkv), strict=True)
    ]
    torch.testing.assert_close(packed, torch.cat(alone, 2))


@every_plain_kernel
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_lowest_float32_is_no_hole_that_turns_nan_in_half_precision(kernel, dtype):
    """allenai/OLMo, pull request 323: cast to bfloat16 it is minus infinity."""
    qkv = [x.detach().to(dtype).requires_grad_() for x in qkv_of(9, 9)]
    bias = torch.zeros(2, 1, 9, 9)
    bias[0] = torch.finfo(torch.float32).min
    out = attend(kernel, *qkv, bias=bias)
    assert finite([out, *torch.autograd.grad(out, qkv, cotangent(out))])


@every_plain_kernel
def test_very_low_scores_and_a_short_tail_keep_gradients_finite(kernel):
    """pytorch/pytorch, issue 196678: n % 128 == 64 and a log-sum-exp below -88.7 made NaN."""
    q, k, v = (x.detach().float() for x in qkv_of(192, 192))
    qkv = [x.requires_grad_() for x in (q.abs() + 4, -(k.abs() + 4), v)]
    tensors = with_gradients(attend(kernel, *qkv, Causal(), scale=1.0), qkv)
    assert finite(tensors)
    doubles = [x.detach().double().requires_grad_() for x in qkv]
    scores = (doubles[0] @ doubles[1].repeat_interleave(2, 1).mT).masked_fill(
        ~Causal().mask(192, 192), -math.inf
    )
    assert float(scores.detach().logsumexp(-1).max()) < -88.7
    exact = with_gradients(scores.softmax(-1) @ doubles[2].repeat_interleave(2, 1), doubles)
    for one, other in zip(tensors, exact, strict=True):
        torch.testing.assert_close(one.double(), other, atol=2e-3, rtol=2e-3)
