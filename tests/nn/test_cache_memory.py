"""What a cache keeps: so many bytes, and nothing that a graph still needs is overwritten."""

from itertools import accumulate, pairwise

import pytest
import torch
from tests.nn.decoding import N, assert_equal, decoded, each_cache, left_padding, values, whole

from attncost import Causal, ShapeError, Strided, UnsupportedOption, Window, attention
from attncost.nn.dynamic_cache import DynamicCache
from attncost.nn.rolling_cache import RollingCache
from attncost.nn.static_cache import StaticCache


@pytest.mark.parametrize("width", [1, 20, 64])
def test_a_rolling_cache_is_constant_in_memory_and_returns_what_is_read(width):
    sizes = set()
    for steps in ([1] * (2 * width), [5] * (2 * width), [width - 1, 1, 0] * 20, [3 * width] * 7):
        n, cache = sum(steps), RollingCache(width)
        k = torch.arange(float(n))[:, None].expand(2, 2, n, 8)
        for start, stop in pairwise(accumulate(steps, initial=0)):
            read, v, _ = cache.extend(k[:, :, start:stop], -k[:, :, start:stop, :5])
            needed = min(start, width - 1) + stop - start
            torch.testing.assert_close(read, k[:, :, stop - needed : stop])
            torch.testing.assert_close(v, -read[..., :5])
            sizes.add(cache.nbytes)
    (size,) = sizes
    assert size <= (width + max(16, width // 4)) * 2 * 2 * (8 + 5) * 4


def test_a_static_cache_is_constant_in_memory_and_refuses_what_does_not_fit(generator):
    q, k, v = values(generator)
    cache = StaticCache(N)
    assert cache.nbytes == 0
    with torch.no_grad():
        sizes = set()
        for at in range(N - 1):
            cache.extend(k[:, :, at : at + 1], v[:, :, at : at + 1])
            sizes.add(cache.nbytes)
        assert sizes == {N * 2 * 2 * (8 + 5) * 8}
        with pytest.raises(ShapeError, match=r"room for 40 tokens and holds 39, so 2 more do not"):
            cache.extend(k[:, :, :2], v[:, :, :2])
        assert cache.tokens == N - 1
        read = cache.extend(k[:, :, -1:], v[:, :, -1:])
        assert_equal(attention(q, read[0], read[1], Causal()), whole([q, k, v], Causal()))


def test_a_dynamic_cache_grows_by_a_quarter_at_most_and_takes_its_mask_along():
    tokens = torch.arange(450.0)[:, None].expand(2, 2, 450, 8)
    cache, key_mask = DynamicCache(), left_padding(2, 0, n=9)
    with torch.no_grad():
        for at in range(0, 450, 9):
            new = tokens[:, :, at : at + 9]
            k, v, mask = cache.extend(new, new[..., :5], None if at else key_mask)
            torch.testing.assert_close(k, tokens[:, :, : at + 9])
            torch.testing.assert_close(v, k[..., :5])
            assert torch.equal(mask, left_padding(2, 0, n=at + 9))
            smallest = cache.tokens * 2 * (2 * (8 + 5) * 4 + 1)
            assert smallest <= cache.nbytes <= smallest * (1.25 + 64 / cache.tokens)


def test_memory_of_the_caller_is_not_kept_alive(generator):
    fused = torch.randn(2, 10, 2, 100, dtype=torch.float64, generator=generator).transpose(1, 2)
    cache = DynamicCache()
    cache.extend(fused[..., :8], fused[..., 8:13])
    assert cache.nbytes == 10 * 2 * 2 * (8 + 5) * 8


def test_gradients_flow_through_a_dynamic_cache(generator):
    qkv, pattern = values(generator), Strided(7)
    one, other = ([x.clone().requires_grad_() for x in qkv] for _ in range(2))
    out = decoded(DynamicCache(), one, pattern, [17, 5] + [1] * 18, left_padding(3, 0))
    exact = whole(other, pattern, left_padding(3, 0))
    torch.testing.assert_close(
        torch.autograd.grad(out.square().sum(), one),
        torch.autograd.grad(exact.square().sum(), other),
    )


@each_cache
def test_gradients_of_queries_alone_are_right_whatever_is_decoded_later(make, pattern, generator):
    qkv, cache = values(generator), make()
    one, other = (qkv[0].clone().requires_grad_() for _ in range(2))
    out = decoded(cache, [one, *qkv[1:]], pattern, [17] + [1] * 23)
    cache.crop(N - 1)
    decoded(cache, [-x for x in qkv], pattern, [1])
    (expected,) = torch.autograd.grad(whole([other, *qkv[1:]], pattern).square().sum(), [other])
    torch.testing.assert_close(torch.autograd.grad(out.square().sum(), [one])[0], expected)


def test_what_a_graph_keeps_is_not_overwritten_without_one(generator):
    qkv = values(generator)
    one, other = ([x.clone().requires_grad_() for x in qkv] for _ in range(2))
    cache = DynamicCache()
    out = decoded(cache, one, Causal(), [N])
    with torch.no_grad():
        cache.crop(30)
        decoded(cache, [-x for x in qkv], Causal(), [1, 1])
        cache.reset()
        decoded(cache, [-x for x in qkv], Causal(), [5])
    torch.testing.assert_close(
        torch.autograd.grad(out.square().sum(), one),
        torch.autograd.grad(whole(other, Causal()).square().sum(), other),
    )


@pytest.mark.parametrize("make", [lambda: StaticCache(N), lambda: RollingCache(5)])
def test_memory_written_in_place_refuses_gradients(make, generator):
    q, k, v = values(generator)
    cache = make()
    with pytest.raises(UnsupportedOption, match=r"decode under torch.no_grad\(\), or take a Dyn"):
        cache.extend(k.requires_grad_(), v)
    assert (cache.tokens, cache.nbytes) == (0, 0)
    with torch.no_grad():
        assert_equal(decoded(cache, [q, k, v], Window(5), [N - 1, 1]), whole([q, k, v], Window(5)))


@each_cache
def test_decoding_may_begin_in_inference_mode_and_go_on_outside(make, pattern, generator):
    qkv, cache = values(generator), make()
    with torch.inference_mode():
        decoded(cache, qkv, pattern, [20, 1])
    with torch.no_grad():
        out = decoded(cache, qkv, pattern, [1] * 3 + [16])
    assert_equal(out, whole(qkv, pattern)[:, :, 21:])


@each_cache
def test_a_reset_forgets_tokens_and_masks_and_keeps_the_memory(make, pattern, generator):
    qkv, cache = values(generator), make()
    with torch.no_grad():
        for mask in (left_padding(9, 2), None):
            out = decoded(cache, qkv, pattern, [30] + [1] * 10, mask)
            assert_equal(out, whole(qkv, pattern, mask))
            size = cache.nbytes
            cache.reset()
            assert cache.tokens == 0
            assert 0 < cache.nbytes <= size
            _, k, v = (x[:, :, :1] for x in qkv)
            assert cache.extend(k, v)[2] is None
            cache.reset()
        more = [x.float() for x in values(generator, batch=3)]
        out = decoded(cache, more, pattern, [30, 10])
    torch.testing.assert_close(out, whole(more, pattern))
