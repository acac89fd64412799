"""The largest logit, against all scores at once in float64 and the mask written out."""

import pytest
import torch
from torch import nn
from torch.nn.attention.bias import causal_lower_right
from torch.nn.functional import scaled_dot_product_attention, softmax

from attncost import Block, Causal, Full, Window, attention
from attncost.cost.counting.masks import pairs_read
from attncost.integrations import logits
from attncost.integrations.logits import LogitWatch
from attncost.nn import MultiheadAttention

B, H, N, M, D = 2, 4, 23, 31, 8


@pytest.fixture
def qkv(generator):
    def made(*, kv_heads=H, n=N, m=M, dtype=torch.float32):
        sizes = ((B, H, n, D), (B, kv_heads, m, D), (B, kv_heads, m, D))
        return tuple(torch.randn(size, generator=generator).to(dtype) for size in sizes)

    return made


def every(q, k, read=True, *, scale=None):
    """Return all scores, -inf where a pair is not read."""
    k = k.double().repeat_interleave(q.shape[1] // k.shape[1], 1)
    scores = torch.einsum("bhnd,bhmd->bhnm", q.double(), k) * (scale or D**-0.5)
    return scores.masked_fill(~torch.as_tensor(read), -torch.inf)


def dense(q, k, read=True, *, scale=None):
    """Return the largest of them."""
    return every(q, k, read, scale=scale).max().item()


def watched(call):
    with LogitWatch() as watch:
        call()
    return watch


def agrees(watch, expected):
    assert watch.notes == ()
    assert watch.largest == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
@pytest.mark.parametrize("scale", [None, 0.7, -0.3])
def test_scaled_dot_product_attention_with_grouped_heads(qkv, kv_heads, scale):
    q, k, v = qkv(kv_heads=kv_heads)
    watch = watched(
        lambda: scaled_dot_product_attention(q, k, v, scale=scale, enable_gqa=kv_heads != H)
    )
    agrees(watch, dense(q, k, scale=scale))


@pytest.mark.parametrize(("n", "m"), [(23, 31), (31, 23), (9, 9)])
def test_causal_calls_leave_out_later_keys(qkv, n, m):
    q, k, v = qkv(n=n, m=m)
    later = torch.ones(n, m, dtype=torch.bool).triu(1)
    k[:, :, -1] = 50 * q[:, :, 0]  # what only a later key gives
    assert dense(q, k) > dense(q, k, ~later)
    agrees(
        watched(lambda: scaled_dot_product_attention(q, k, v, is_causal=True)), dense(q, k, ~later)
    )


@pytest.mark.parametrize("shape", [(N, M), (1, M), (B, 1, 1, M), (B, H, N, M)])
@pytest.mark.parametrize("low", [None, -torch.inf, -1e4, -1e9, torch.finfo(torch.float32).min])
def test_masks_leave_out_what_they_hide_and_add_nothing(qkv, generator, shape, low):
    q, k, v = qkv()
    read = torch.rand(shape, generator=generator) > 0.7
    mask = read
    if low is not None:
        mask = torch.randn(shape, generator=generator).masked_fill(~read, low)
    agrees(watched(lambda: scaled_dot_product_attention(q, k, v, mask)), dense(q, k, read))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_the_logit_of_a_hidden_key_is_none_however_low_its_mask_and_large_itself(dtype):
    q = torch.ones(1, 1, 2, 4, dtype=dtype)
    k = torch.stack([torch.full((4,), 8.0), torch.full((4,), 3.0)])[None, None].to(dtype)
    for low in (-1e4, -65504.0, torch.finfo(dtype).min):
        mask = torch.tensor([[low, 0.0]], dtype=dtype)
        calls = (
            lambda mask=mask: scaled_dot_product_attention(q, k, k, mask),
            lambda mask=mask: attention(q, k, k, bias=mask.expand(1, 1, 2, 2)),
        )
        for call in calls:
            agrees(watched(call), 3 * 4 / 2)
            assert pairs_read((1, 1, 2, 2), mask).pairs == 2


def test_few_scores_are_in_memory_at_once(qkv, monkeypatch):
    q, k, v = qkv()
    read = torch.rand(B, H, N, M) > 0.8
    for most in (1, 3 * B * H * M, 10**9):
        monkeypatch.setattr(logits, "_AT_ONCE", most)
        agrees(watched(lambda: scaled_dot_product_attention(q, k, v, read)), dense(q, k, read))
        agrees(watched(lambda: attention(q, k, v, Causal())), dense(q, k, Causal().mask(N, M)))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_products_of_half_precision_are_summed_in_single(qkv, dtype):
    q, k, v = qkv(dtype=dtype)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        watch = watched(lambda: scaled_dot_product_attention(q, k, v))
    agrees(watch, dense(q, k))


@pytest.mark.parametrize("axes", [2, 3, 5])
def test_any_number_of_axes_in_front(generator, axes):
    q, k = torch.randn(2, *(3, 2, 1)[: axes - 2], 7, D, generator=generator)
    scores = q.double() @ k.double().mT * D**-0.5
    agrees(watched(lambda: scaled_dot_product_attention(q, k, k)), scores.max().item())


@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(4), Block(8)])
def test_our_attention_with_patterns_padding_and_documents(qkv, generator, pattern):
    q, k, v = qkv(kv_heads=2)
    agrees(watched(lambda: attention(q, k, v, pattern)), dense(q, k, pattern.mask(N, M)))
    key_mask = torch.rand(B, M, generator=generator) > 0.3
    segments = torch.arange(M).expand(B, M) // torch.tensor([[9], [12]])
    read = pattern.mask(N, M) & key_mask[:, None, None]
    read = read & (segments[:, None, M - N :, None] == segments[:, None, None])
    call = lambda: attention(  # noqa: E731
        q, k, v, pattern, key_mask=key_mask, segments=segments, scale=0.5, softcap=1.0
    )
    agrees(watched(call), dense(q, k, read, scale=0.5))


@pytest.mark.parametrize("ours", [False, True])
@pytest.mark.parametrize("separate", [False, True])
@pytest.mark.parametrize("weights", [False, True])
def test_modules_of_several_heads(generator, ours, separate, weights):
    kind = MultiheadAttention if ours else nn.MultiheadAttention
    module = kind(H * D, H, batch_first=True, **({"kdim": 12, "vdim": 12} if separate else {}))
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3, generator=generator)
    nn.init.zeros_(module.in_proj_bias)
    x = torch.randn(B, N, H * D, generator=generator)
    y = torch.randn(B, M, 12, generator=generator) if separate else x
    m = y.shape[1]
    call = lambda: module(  # noqa: E731
        x, y, y, attn_mask=blocked, key_padding_mask=padding, need_weights=weights
    )
    names = ("q_proj_weight", "k_proj_weight") if separate else ("in_proj_weight",)
    q_weight, k_weight = (
        torch.cat([getattr(module, n).flatten() for n in names])
        .double()
        .split([H * D * H * D, H * D * y.shape[2]] + ([] if separate else [H * D * H * D]))[:2]
    )
    q, k = (
        (z.double() @ w.view(H * D, -1).T).unflatten(-1, (H, D)).transpose(1, 2)
        for z, w in ((x, q_weight), (y, k_weight))
    )
    blocked, padding = torch.zeros(N, m).bool(), torch.zeros(B, m).bool()
    # One mask hides the largest score, the other the next one.
    at = (every(q, k) == dense(q, k)).nonzero()[0]
    blocked[at[2], at[3]] = True
    at = (every(q, k, ~blocked) == dense(q, k, ~blocked)).nonzero()[0]
    padding[at[0], at[3]] = True
    read = ~(blocked | padding[:, None, None])
    assert dense(q, k, read) < dense(q, k, ~blocked) < dense(q, k)
    watch = watched(call)
    assert watch.largest == pytest.approx(dense(q, k, read), rel=1e-5)
    # Ours computes weights that are asked for apart, which looks like attention by hand.
    assert bool(watch.notes) is (ours and weights)


def test_one_sequence_alone_and_a_mask_for_each_head(generator):
    module = nn.MultiheadAttention(H * D, H)
    nn.init.zeros_(module.in_proj_bias)
    x = torch.randn(N, H * D, generator=generator)
    q, k = (
        (x.double() @ w.double().T).unflatten(-1, (H, D)).transpose(0, 1)[None]
        for w in module.in_proj_weight.split(H * D)[:2]
    )
    blocked = torch.rand(H, N, N, generator=generator) > 0.2
    agrees(watched(lambda: module(x, x, x, attn_mask=blocked)), dense(q, k, ~blocked))


def test_the_largest_of_all_calls_of_a_training_step_is_kept_and_nothing_else_changes(generator):
    layer = nn.TransformerEncoderLayer(H * D, H, 16, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    x = torch.randn(B, N, H * D, generator=generator)

    def trained():
        model.zero_grad()
        model(x).square().sum().backward()
        return [parameter.grad.clone() for parameter in model.parameters()]

    before, largest = trained(), []
    with LogitWatch() as watch:
        after = trained()
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    for layer in model.layers:
        with LogitWatch() as one:
            layer.self_attn(x, x, x)
        largest.append(one.largest)
        x = layer(x)
    assert watch.largest == pytest.approx(max(largest), rel=1e-5)
    assert watch.notes == ()


def test_what_is_written_by_hand_is_not_seen_and_that_is_said(qkv):
    q, k, v = qkv()

    def by_hand():
        return softmax(q @ k.mT, -1) @ v

    watch = watched(by_hand)
    assert watch.largest is None
    assert watch.notes == ("largest logit: no call of attention was seen, so none is known",)
    watch = watched(lambda: (by_hand(), scaled_dot_product_attention(q, k, v)))
    assert watch.largest == pytest.approx(dense(q, k), rel=1e-5)
    assert "1 calls of softmax outside the attention that was seen" in watch.notes[0]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_calls_that_it_cannot_read_are_named_and_no_number_is_made_up(qkv):
    q, k, v = qkv()
    jagged = torch.nested.nested_tensor([torch.ones(3, H, D)] * 2, layout=torch.jagged)
    ragged = jagged.transpose(1, 2)
    calls = {
        "with a CausalBias is not looked at": lambda: scaled_dot_product_attention(
            q, k, v, causal_lower_right(N, M)
        ),
        "of nested or other special tensors": lambda: scaled_dot_product_attention(
            ragged, ragged, ragged
        ),
        "with keys of its own is not looked at": lambda: nn.MultiheadAttention(
            H * D, H, add_bias_kv=True
        )(*[torch.ones(3, 2, H * D)] * 3),
    }
    for reason, call in calls.items():
        watch = watched(call)
        assert watch.largest is None
        assert [note for note in watch.notes if reason in note]


def test_nothing_is_watched_afterwards_even_if_the_step_fails(qkv):
    q, k, v = qkv()
    watch = LogitWatch()
    with pytest.raises(ZeroDivisionError), watch:
        raise ZeroDivisionError
    scaled_dot_product_attention(q, k, v)
    assert watch.largest is None
