"""Decoding with a cache, beside the dense definition of the whole sequence."""

from collections.abc import Callable
from copy import deepcopy
from functools import partial

import pytest
import torch
from tests.nn.decoding import N, assert_equal, decoded, each_cache, left_padding, values, whole

from attncost import (
    BigBird,
    Causal,
    Custom,
    Full,
    Pattern,
    ShapeError,
    Strided,
    UnsupportedOption,
    Window,
)
from attncost.nn.cache import Cache
from attncost.nn.cache_for import cache_for
from attncost.nn.dynamic_cache import DynamicCache
from attncost.nn.rolling_cache import RollingCache
from attncost.nn.static_cache import StaticCache

WINDOWS = [Window(1), Window(5), Window(16), Window(100)]
PATTERNS = [
    *WINDOWS,
    Causal(),
    Strided(7),
    BigBird(4, longest=64) & Causal(),
    Custom(lambda query, key: (key <= query) & ((key + query) % 3 != 0)),
]
STEPS = [[1] * N, [3] + [1] * 9 + [28], [17, 5] + [1] * 18, [30, 4, 1, 1, 4], [2, 33, 0, 5], [N]]
PAIRS: list[tuple[Callable[[], Cache], Pattern]] = [(lambda: StaticCache(N), Causal())]
PAIRS += [(DynamicCache, one) for one in PATTERNS]
PAIRS += [(partial(RollingCache, one.width), one) for one in WINDOWS]
every_cache = pytest.mark.parametrize(
    ("make", "pattern"), PAIRS, ids=[f"{type(make()).__name__} {one}" for make, one in PAIRS]
)


@every_cache
def test_decoding_in_any_steps_equals_the_whole_sequence(make, pattern, generator):
    qkv = values(generator)
    exact = whole(qkv, pattern)
    with torch.no_grad():
        for steps in STEPS:
            cache = make()
            assert_equal(decoded(cache, qkv, pattern, steps), exact)
            assert cache.tokens == N


@each_cache
@pytest.mark.parametrize(
    "key_mask",
    [left_padding(7, 0), torch.arange(N).expand(2, N) % 4 != 3, ~left_padding(N, 30)],
    ids=["left padding", "holes", "right padding"],
)
def test_masked_keys_stay_masked(make, pattern, key_mask, generator):
    qkv = values(generator)
    with torch.no_grad():
        for steps in STEPS[1:]:
            out = decoded(make(), qkv, pattern, steps, key_mask)
            assert_equal(out, whole(qkv, pattern, key_mask))


@each_cache
def test_no_mask_is_returned_before_one_was_given(make, pattern, generator):
    _, k, v = values(generator, n=4)
    cache = make()
    assert cache.extend(k, v)[2] is None
    assert cache.extend(k, v, left_padding(4, 2, n=4))[2].sum() == 2 * 4 + 2
    assert cache.extend(k[:, :, :1], v[:, :, :1])[2][:, -1].all()


@each_cache
def test_sequences_may_be_selected_and_repeated(make, pattern, generator):
    qkv, indices = values(generator), torch.tensor([1, 1, 0])
    key_mask, cache = left_padding(7, 2), make()
    chosen, chosen_mask = [x[indices] for x in qkv], key_mask[indices]
    with torch.no_grad():
        decoded(cache, qkv, pattern, [9] + [1] * 5, key_mask)
        cache.select(indices)
        out = decoded(cache, chosen, pattern, [1] * 10 + [16], chosen_mask)
        assert_equal(out, whole(chosen, pattern, chosen_mask)[:, :, 14:])
        for wrong in (torch.tensor([3]), torch.tensor([-1])):
            with pytest.raises(ShapeError, match=r"between 0 and 2, as the batch has 3 sequences"):
                cache.select(wrong)


@each_cache
@pytest.mark.parametrize("drafted", [1, 5, 16])
def test_the_last_tokens_can_be_taken_back_at_any_time(make, pattern, drafted):
    tokens = torch.arange(float(N))[:, None].expand(1, 1, N, 1)
    with torch.no_grad():
        for at in range(N - 16):
            cache = make()
            for token in tokens[:, :, :at].split(1, 2):
                cache.extend(token, token)
            cache.extend(-tokens[:, :, :drafted], -tokens[:, :, :drafted])
            for kept in (drafted - 1, 0):
                cache.crop(at + kept)
            assert cache.tokens == at
            k, v, _ = cache.extend(tokens[:, :, at : at + 2], tokens[:, :, at : at + 2])
            least = at + 2 if pattern == Causal() else min(at, 4) + 2
            torch.testing.assert_close(k, tokens[:, :, at + 2 - least : at + 2])
            torch.testing.assert_close(v, k)


@pytest.mark.parametrize("make", [DynamicCache, lambda: StaticCache(N)])
def test_all_tokens_can_be_taken_back_where_all_are_kept(make, generator):
    qkv, other = values(generator), values(generator)
    cache = make()
    with torch.no_grad():
        decoded(cache, qkv, Causal(), [20])
        decoded(cache, other, Causal(), [3, 1, 5])
        cache.crop(20)
        assert_equal(decoded(cache, qkv, Causal(), [20]), whole(qkv, Causal())[:, :, 20:])
        for wrong in (-1, N + 1):
            with pytest.raises(ShapeError, match=f"between 0 and {N}, as many as .* got {wrong}"):
                cache.crop(wrong)


def test_a_rolling_cache_refuses_to_go_back_beyond_what_it_holds(generator):
    qkv, cache, nothing = values(generator), RollingCache(5), RollingCache(1)
    with torch.no_grad():
        decoded(cache, qkv, Window(5), [1] * 30)
        with pytest.raises(ShapeError, match=r"holds the last \d+ of 30 tokens and can go") as said:
            cache.crop(9)
        earliest = int(str(said.value).split("go back to ")[1].split(",")[0])
        with pytest.raises(ShapeError, match=f"go back to {earliest}, got {earliest - 1}"):
            cache.crop(earliest - 1)
        cache.crop(earliest)
        out = decoded(cache, qkv, Window(5), [1] * 5)
        assert_equal(out, whole(qkv, Window(5))[:, :, earliest : earliest + 5])
        decoded(nothing, qkv, Window(1), [1] * 30)
        nothing.crop(0)
        assert_equal(decoded(nothing, qkv, Window(1), [N]), whole(qkv, Window(1)))


@each_cache
def test_a_copy_goes_its_own_way(make, pattern, generator):
    qkv, other, cache = values(generator), values(generator), make()
    with torch.no_grad():
        decoded(cache, qkv, pattern, [20] + [1] * 10)
        copy = deepcopy(cache)
        decoded(copy, other, pattern, [1] * 10)
        assert_equal(decoded(cache, qkv, pattern, [1] * 10), whole(qkv, pattern)[:, :, 30:])
    assert copy.nbytes == cache.nbytes


def test_a_pattern_gets_the_cache_that_keeps_what_it_reads():
    assert isinstance(cache_for(Causal()), DynamicCache)
    assert isinstance(cache_for(Strided(7)), DynamicCache)
    static, rolling = cache_for(Causal(), length=100), cache_for(Window(7), length=100)
    assert isinstance(static, StaticCache)
    assert static.length == 100
    assert isinstance(rolling, RollingCache)
    assert rolling.width == 7


@pytest.mark.parametrize("pattern", [Full(), BigBird(), Window(3, ahead=1)], ids=str)
def test_a_pattern_that_reads_ahead_gets_no_cache(pattern):
    with pytest.raises(UnsupportedOption, match=r"reads keys after the query.*& Causal"):
        cache_for(pattern)
    assert isinstance(cache_for(pattern & Causal()), DynamicCache)


def test_sizes_below_one_are_refused():
    with pytest.raises(ShapeError, match="length must be at least 1"):
        StaticCache(0)
    with pytest.raises(ShapeError, match="width must be at least 1"):
        RollingCache(0)


@pytest.mark.parametrize("make", [DynamicCache, lambda: StaticCache(N), lambda: RollingCache(9)])
def test_inference_mode_may_come_and_go(make, generator):
    k, v = torch.randn(2, 1, 2, 3, 4, generator=generator)
    cache, mask = make(), torch.ones(1, 3, dtype=torch.bool)
    with torch.no_grad():
        cache.extend(k, v)
        with torch.inference_mode():
            cache.extend(k, v, mask)
        read = cache.extend(k, v, mask)
    assert torch.equal(read[0][:, :, -3:], k)
