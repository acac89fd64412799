"""What fits, against sums written out by hand and against trying every size."""

import random

import pytest
from tests.papers import decoder, with_logits

from attncost import BlockSizes, Causal, Configuration, ShapeError, Window
from attncost.cost.model.dense import Dense
from attncost.cost.planning.fit import bisected, largest_batch, longest
from attncost.cost.planning.needs import needs, total
from attncost.cost.planning.sharding import Sharding
from attncost.cost.planning.situation import KERNELS, STATES, WORKS, Situation
from attncost.cost.reading import preset

GIB = 1 << 30


def by_part(parts):
    return {part.part: part.bytes for part in parts}


def drawn(seed):
    """Return a random model, situation and memory, which some length fits into."""
    draw = random.Random(seed)
    heads = draw.choice((4, 8, 16))
    attention = {
        "d_model": 64 * heads,
        "heads": heads,
        "kv_heads": draw.choice((1, 2, 4)),
        "head_dim": draw.choice((32, 64, 96)),
    }
    d = attention["d_model"]
    feed = Dense(d_model=d, hidden=draw.randint(d, 4 * d), gated=draw.random() < 0.5)
    model = decoder("random", layers=draw.randint(1, 9), attention=attention, feed=feed, norm=1)
    model = with_logits(model, draw.randint(100, 50_000))
    if draw.random() < 0.5:
        model = model.reading(Window(draw.randint(1, 5000)))
    work = draw.choice(WORKS)
    sharding = Sharding(
        tensor=draw.choice((1, 2, 4)) if attention["kv_heads"] == 4 else 1,
        data=draw.choice((1, 3)),
        zero=draw.randint(0, 3),
        sequence=draw.random() < 0.5,
    )
    how = Situation(
        work=work,
        kernel=draw.choice(KERNELS),
        weights=draw.choice(("bf16", "float32") if work == "training" else ("int4", "fp8", "bf16")),
        kv=draw.choice(("fp8", "bf16", "float32")),
        page=draw.choice((1, 16, 256)),
        checkpointing=draw.random() < 0.5,
        optimizer=draw.choice(tuple(STATES)),
        sharding=sharding,
    )
    least = total(needs(model, how, length=1))
    return model, how, int(least * draw.uniform(1.0, 3.0)) + draw.randint(0, 1 << 22)


@pytest.mark.parametrize("seed", range(50))
def test_the_longest_fits_and_one_token_more_does_not(seed):
    model, how, memory = drawn(seed)
    fit = longest(model, how, memory=memory)
    # A window alone holds any number of tokens while they are decoded.
    if fit.greatest is None:
        assert how.work == "decode"
        assert total(needs(model, how, length=1 << 30)) <= memory
        return
    assert fit.greatest >= 1
    assert total(needs(model, how, length=fit.greatest)) == total(fit.parts) <= memory
    assert total(needs(model, how, length=fit.greatest + 1)) == total(fit.next) > memory
    # Nothing longer fits by chance.
    assert all(
        total(needs(model, how, length=fit.greatest + more)) > memory
        for more in (2, 3, 17, 255, 256, 257, 10_000)
    )
    batch = largest_batch(model, how, memory=memory, length=fit.greatest)
    assert batch.greatest is not None
    assert batch.greatest >= how.sharding.data
    for sequences, fits in ((batch.greatest, True), (batch.greatest + 1, False)):
        parts = needs(model, how, length=fit.greatest, batch=sequences)
        assert (total(parts) <= memory) is fits


@pytest.mark.parametrize("seed", range(50))
def test_memory_never_shrinks_with_the_length(seed):
    model, how, _ = drawn(seed)
    held = [total(needs(model, how, length=n)) for n in range(1, 300)]
    assert held == sorted(held)
    held = [total(needs(model, how, length=64, batch=b)) for b in range(1, 40)]
    assert held == sorted(held)


def test_what_serving_holds_is_the_sum_that_a_student_writes_down():
    model, n, batch = preset("llama-3-8b"), 8192, 4
    parts = by_part(needs(model, Situation(work="decode"), length=n, batch=batch))
    assert parts["weights"] == 8_030_261_248 * 2
    assert parts["cache"] == batch * n * 131_072
    assert parts["logits"] == batch * 128_256 * 4
    eighth = Situation(work="decode", kv="fp8", weights="int4", sharding=Sharding(tensor=8))
    parts = by_part(needs(model, eighth, length=n, batch=batch))
    assert parts["weights"] == 8_030_261_248 // 2 // 8
    assert parts["cache"] == batch * n * 131_072 // 2 // 8


def test_more_devices_than_heads_of_keys_have_copies_of_them():
    model = preset("llama-3-70b")
    parts = [
        by_part(needs(model, Situation(sharding=Sharding(tensor=t)), length=1000))["cache"]
        for t in (8, 16)
    ]
    assert parts[0] == parts[1] == 1000 * 327_680 // 8


def test_training_holds_the_16_bytes_a_parameter_of_zero():
    """Rajbhandari et al. 2019, arXiv:1910.02054, section 3.1 and figure 1: 2 + 2 + 12 bytes."""
    model = Configuration.alike(
        "7.5 billion", BlockSizes(d_model=4096, heads=32, hidden=4 * 4096), Causal(), layers=37
    )
    share = 7_500_000_000 / int(model.parameters)

    def gigabytes(zero):
        how = Situation(work="training", sharding=Sharding(data=64, zero=zero))
        parts = by_part(needs(model, how, length=1, batch=64))
        states = sum(parts[one] for one in ("weights", "gradients", "optimizer"))
        return states * share / 1e9

    printed = [120, 31.4, 16.6, 1.9]
    assert [gigabytes(zero) for zero in range(4)] == pytest.approx(printed, abs=0.051)


def test_a_page_is_taken_whole():
    model, how = preset("llama-3-8b"), Situation(work="decode", page=16)
    caches = [by_part(needs(model, how, length=n))["cache"] for n in (1, 16, 17)]
    assert caches == [16 * 131_072, 16 * 131_072, 32 * 131_072]


def test_a_window_reserves_whole_pages():
    """Half of gpt-oss's layers read 128 tokens; a page of 256 holds more."""
    model, one = preset("gpt-oss-20b"), 2 * 8 * 64 * 2
    cache = by_part(needs(model, Situation(work="decode", page=256), length=1000))["cache"]
    assert cache == 12 * one * (256 + 1024)


def test_what_writes_nothing_has_the_logits_of_every_token():
    parts = by_part(needs(preset("bert-base"), Situation(), length=512))
    assert parts["logits"] == 512 * 30_522 * 2


def test_tokens_between_the_parts_of_a_layer_are_shared_in_sequence_parallel():
    whole, shared = (
        by_part(
            needs(
                preset("llama-3-8b"),
                Situation(sharding=Sharding(tensor=8, sequence=on)),
                length=8000,
            )
        )["activations"]
        for on in (False, True)
    )
    assert whole - shared == 3 * 8000 * 4096 * 2 * 7 // 8


def test_one_token_scores_no_more_than_its_window():
    model = preset("mistral-7b")
    near, far = (
        by_part(needs(model, Situation(work="decode", kernel="naive"), length=n))["activations"]
        for n in (4096, 1_000_000)
    )
    assert near == far


@pytest.mark.parametrize("size", [{"length": 0}, {"length": -5}, {"length": 9, "batch": 0}])
def test_nothing_is_no_size(size):
    with pytest.raises(ShapeError, match="must be at least 1, got"):
        needs(preset("gpt2"), Situation(), **size)


def test_a_rolling_window_caps_the_cache():
    """Mistral 7B keeps 4,096 tokens in every layer, 512 MiB at 16 bit; arXiv:2310.06825."""
    model = preset("mistral-7b")
    for n, tokens in ((4096, 4096), (4097, 4096), (100_000, 4096)):
        cache = by_part(needs(model, Situation(work="decode"), length=n))["cache"]
        assert cache == tokens * 131_072
    assert cache == 512 << 20


def test_more_memory_never_fits_less_and_a_smaller_cache_fits_more():
    model, how = preset("llama-3-8b"), Situation(work="decode")
    found = [longest(model, how, memory=gib * GIB).greatest for gib in range(14, 90, 4)]
    assert found == sorted(found)
    assert found[0] == 0
    assert longest(model, how, memory=14 * GIB).limit == "weights"
    half = longest(model, Situation(work="decode", kv="fp8"), memory=80 * GIB).greatest
    whole = longest(model, how, memory=80 * GIB).greatest
    assert half == pytest.approx(2 * whole, rel=1e-4)


def test_the_length_ends_where_positions_do():
    model = preset("gpt-3")
    fit = longest(model, Situation(), memory=1000 * GIB)
    assert (fit.greatest, fit.limit, fit.next) == (2048, "positions", ())


@pytest.mark.parametrize("greatest", [0, 1, 2, 3, 511, 512, 1000])
def test_bisection_finds_what_a_search_of_all_finds(greatest):
    asked = []
    assert bisected(lambda n: asked.append(n) or n <= greatest, top=1000) == greatest
    assert len(asked) <= 10
