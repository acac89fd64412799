"""Decoding with a state, beside the dense definition of the whole sequence."""

import copy
from itertools import accumulate, pairwise

import pytest
import torch
from tests.nn.decoding import N, left_padding, values

from attncost import Causal, Linear, Linformer, ShapeError, UnsupportedOption, Window
from attncost.nn import Attention, DynamicCache, Rope, StateCache, TransformerBlock, cache_for

MECHANISM = Linear(causal=True)
STEPS = [[1] * N, [3] + [1] * 9 + [28], [2, 33, 0, 5], [N]]
MASKS = {
    "unmasked": None,
    "left padding": left_padding(7, 0),
    "holes": torch.arange(N).expand(2, N) % 4 != 3,
    "right padding": ~left_padding(N, 30),
}


def whole(qkv, key_mask=None):
    """Return every row's weighted mean, all weights written out; a row that reads nothing is 0."""
    q, k, v = qkv
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    features = [torch.where(x > 0, x + 1, x.exp()) for x in (q, k)]
    read = torch.ones(N, N, dtype=torch.bool).tril()
    if key_mask is not None:
        read = read & key_mask[:, None, None, :]
    weights = torch.einsum("bhnf,bhmf->bhnm", *features) * read
    total = weights.sum(-1, keepdim=True)
    return torch.einsum("bhnm,bhme->bhne", weights / torch.where(total > 0, total, 1.0), v)


def decoded(cache, qkv, steps, key_mask=None):
    """Feed tokens in steps and return all outputs; a mask that hides nothing is left out."""
    outs = []
    for start, stop in pairwise(accumulate(steps, initial=cache.tokens)):
        mask = None if key_mask is None else key_mask[:, start:stop]
        part = [x[:, :, start:stop] for x in qkv]
        outs.append(cache.stream(*part, key_mask=None if mask is None or mask.all() else mask))
    return torch.cat(outs, 2)


def assert_equal(out, exact):
    torch.testing.assert_close(out, exact, rtol=0, atol=1e-10)


@pytest.mark.parametrize("padding", MASKS)
def test_decoding_in_any_steps_equals_the_whole_sequence(padding, generator):
    qkv, key_mask = values(generator), MASKS[padding]
    for steps in STEPS:
        cache = cache_for(MECHANISM, length=7)
        assert_equal(decoded(cache, qkv, steps, key_mask), whole(qkv, key_mask))
        assert cache.tokens == N


def test_a_state_does_not_grow(generator):
    qkv, sizes = values(generator), set()
    for steps in STEPS:
        cache = StateCache(MECHANISM)
        assert cache.nbytes == 0
        decoded(cache, qkv, steps)
        sizes.add(cache.nbytes)
    (size,) = sizes
    sums = 2 * 2 * 8 * (5 + 1) * 8
    assert sums <= size <= 1.5 * sums


def test_gradients_flow_through_the_state(generator):
    one, other = ([x.requires_grad_() for x in values(generator)] for _ in range(2))
    other = [x.detach().requires_grad_() for x in one]
    out = decoded(StateCache(MECHANISM), one, [3, 1, 20, 16], left_padding(5, 0))
    exact = whole(other, left_padding(5, 0))
    torch.testing.assert_close(
        torch.autograd.grad(out.square().sum(), one),
        torch.autograd.grad(exact.square().sum(), other),
    )


def test_sequences_may_be_selected_and_repeated(generator):
    qkv, indices, cache = values(generator), torch.tensor([1, 1, 0]), StateCache(MECHANISM)
    cache.select(indices)
    decoded(cache, qkv, [9, 1], left_padding(7, 2))
    cache.select(indices)
    chosen, chosen_mask = [x[indices] for x in qkv], left_padding(2, 2, 7)
    exact = whole(chosen, chosen_mask)[:, :, 10:]
    assert_equal(decoded(cache, chosen, [1] * 10 + [20], chosen_mask), exact)
    with pytest.raises(ShapeError, match=r"between 0 and 2, as the batch has 3 sequences"):
        cache.select(torch.tensor([3]))


def test_no_token_can_be_taken_back_and_a_copy_goes_its_own_way(generator):
    qkv, other, cache = values(generator), values(generator), StateCache(MECHANISM)
    decoded(cache, qkv, [20])
    for before in (copy.copy(cache), copy.deepcopy(cache)):
        decoded(before, other, [1] * 5)
    assert_equal(decoded(cache, qkv, [20]), whole(qkv)[:, :, 20:])
    cache.crop(N)
    with pytest.raises(UnsupportedOption, match=r"all 40 tokens and cannot go back to 39: take co"):
        cache.crop(39)
    with pytest.raises(ShapeError, match="between 0 and 40, as many as the cache has seen, got 41"):
        cache.crop(41)
    for forget in (cache.reset, lambda: cache.crop(0)):
        forget()
        assert (cache.tokens, cache.nbytes) == (0, 0)
        assert_equal(decoded(cache, qkv, [N]), whole(qkv))


def test_inference_mode_may_come_and_go(generator):
    qkv, cache = values(generator), StateCache(MECHANISM)
    with torch.inference_mode():
        decoded(cache, qkv, [9])
    q = qkv[0].requires_grad_()
    out = decoded(cache, qkv, [31])
    assert_equal(out.detach(), whole(qkv).detach()[:, :, 9:])
    assert torch.autograd.grad(out.sum(), q)[0][:, :, 9:].any()


def test_tokens_that_do_not_fit_are_refused_and_change_nothing(generator):
    (q, k, v), cache = values(generator), StateCache(MECHANISM)
    cache.stream(q, k, v)
    mistakes = {
        "holds 2 sequences of 2 kv_heads .* got 1 sequences": (q[:1], k[:1], v[:1]),
        "head_dim 8 and value_dim 5 .* got .* value_dim 4": (q, k, v[..., :4]),
        "in torch.float64 on cpu, got .* torch.float32": (q.float(), k.float(), v.float()),
    }
    for message, qkv in mistakes.items():
        with pytest.raises(ShapeError, match=message):
            cache.stream(*qkv)
    assert cache.tokens == N


def test_what_reads_ahead_has_no_state_and_is_told_what_has_one():
    for mechanism in (Linear(), Linformer(4)):
        for make in (cache_for, StateCache):
            with pytest.raises(UnsupportedOption, match=r"ahead.*Linear\(.*causal=True\)") as error:
                make(mechanism)
            assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("mixing", "cache", "reason"),
    [
        (Linear(causal=True), DynamicCache(), "keeps a state of its own, which a DynamicCache is"),
        (
            Linear(causal=True),
            StateCache(Linear("softmax", causal=True)),
            "which the state of Linear.*softmax.* is not: take cache_for",
        ),
        (Linear(), StateCache(MECHANISM), "reads ahead"),
        (Causal(), StateCache(MECHANISM), "reads keys, which the state of .* does not keep: take"),
    ],
    ids=["keys", "another one", "ahead", "a pattern"],
)
def test_a_layer_refuses_the_memory_of_another(mixing, cache, reason):
    with pytest.raises(UnsupportedOption, match=reason) as error:
        Attention(32, 4, mixing)(torch.zeros(2, 3, 32), cache=cache)
    assert "\n" not in str(error.value)
    assert cache.tokens == 0


@pytest.mark.parametrize("padded", [False, True], ids=["", "padded on the left"])
def test_blocks_write_token_by_token_what_they_compute_in_one_call(padded, generator):
    torch.manual_seed(0)
    layers = [Attention(32, 4, MECHANISM, kv_heads=2, qk_norm=True, rope=Rope()) for _ in range(2)]
    blocks = torch.nn.ModuleList(map(TransformerBlock, layers)).double()
    x = torch.randn(2, N, 32, dtype=torch.float64, generator=generator)
    key_mask, caches = (
        left_padding(9, 0) if padded else None,
        [cache_for(MECHANISM) for _ in blocks],
    )
    steps = []
    for start, stop in pairwise([0, 12, 13, 18, *range(19, N + 1)]):
        new = x[:, start:stop]
        for block, cache in zip(blocks, caches, strict=True):
            mask = None if key_mask is None else key_mask[:, start:stop]
            new = block(new, cache=cache, key_mask=mask)
        steps.append(new)
    for block in blocks:
        x = block(x, key_mask=key_mask)
    assert_equal(torch.cat(steps, 1), x)


def test_a_state_under_autocast_is_summed_in_float32(generator):
    layer = Attention(32, 4, MECHANISM, qk_norm=True, rope=Rope())
    x, cache = torch.randn(2, N, 32, generator=generator), cache_for(MECHANISM)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        steps = torch.cat([layer(part, cache=cache) for part in x.split(15, 1)], 1)
    torch.testing.assert_close(steps.float(), layer(x), atol=0.05, rtol=0.05)


def test_autocast_may_end_before_the_text(generator):
    layer = Attention(32, 4, MECHANISM)
    x, cache = torch.randn(2, N, 32, generator=generator), cache_for(MECHANISM)
    with torch.no_grad():
        with torch.autocast("cpu", torch.bfloat16):
            layer(x[:, :30], cache=cache)
        after = layer(x[:, 30:], cache=cache)
    assert after.dtype is torch.float32
    torch.testing.assert_close(after, layer(x)[:, 30:], atol=0.02, rtol=0.02)


def test_a_text_of_no_length_is_refused_for_whatever_reads_it():
    for attention in (MECHANISM, Causal(), Window(4)):
        with pytest.raises(ShapeError, match=r"length must be at least 1 .* got -3"):
            cache_for(attention, length=-3)
