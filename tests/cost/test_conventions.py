"""Conventions against their definitions, written out by hand for small models."""

from dataclasses import replace

import pytest
import sympy
from tests.papers import gpt

from attncost import BlockSizes, Causal, Configuration, Cost, Full, UnknownName, Window
from attncost.core.counts import lengths, symbol
from attncost.cost.conventions import (
    convention,
    conventions,
    flops_by_convention,
    seen_by_convention,
)
from attncost.cost.counting.counted import Counted, Row
from attncost.cost.model.ends import Embedding, Head
from attncost.cost.reading import preset

# One layer, 2 heads of 3 features for 8 of a token: heads * head_dim is not d_model.
LAYER = BlockSizes(d_model=8, heads=2, kv_heads=1, head_dim=3, hidden=5, gated=True)
TINY = replace(
    Configuration.alike("tiny", LAYER, Causal(), norm=1),
    embedding=Embedding(vocabulary=11),
    head=Head(kind="logits", width=11),
)
MATRICES = 8 * 6 + 2 * 8 * 3 + 6 * 8 + 3 * 8 * 5
PARAMETERS = MATRICES + 2 * 11 * 8 + 3 * 8
N = 7
CORE = 4 * N * N * 6
REST = 2 * N * (MATRICES + 11 * 8)
FORWARD = {
    "exact": REST + 4 * (N * (N + 1) // 2) * 6,
    "half": REST + CORE // 2,
    "dense": REST + CORE,
    "macs": (REST + CORE) // 2,
    "6N": 2 * PARAMETERS * N,
    "kaplan": 2 * MATRICES * N + 2 * N * N * 6,
    "palm": 2 * PARAMETERS * N + CORE,
    "nanochat": 2 * (PARAMETERS - 11 * 8) * N + CORE,
    "chinchilla": 2 * N * 11 * 8 + REST + CORE + 3 * 2 * N * N,
    "chinchilla-blocks": 2 * MATRICES * N + CORE + 3 * 2 * N * N,
    "narayanan": REST + CORE,
    "korthikanti": REST + CORE,
    "korthikanti-hardware": REST + CORE,
}
AGAIN = {"narayanan": 2 * N * MATRICES + CORE, "korthikanti-hardware": 3 * CORE}


def test_every_convention_counts_what_it_says():
    assert TINY.parameters == PARAMETERS
    assert flops_by_convention(TINY, N) == FORWARD
    training = {name: 3 * flops + AGAIN.get(name, 0) for name, flops in FORWARD.items()}
    assert flops_by_convention(TINY, N, training=True) == training
    assert tuple(FORWARD) == conventions()


def test_every_convention_says_who_counts_so_and_what():
    for name in conventions():
        assert convention(name).name == name
        assert convention(name).source
        assert convention(name).counts


@pytest.mark.parametrize("name", conventions())
def test_numbers_symbols_and_many_lengths_agree(name):
    n, one = symbol("n"), convention(name)
    for training in (False, True):
        expected = [one.flops(TINY, length, training=training) for length in range(1, 10)]
        formula = sympy.sympify(one.flops(TINY, n, training=training))
        assert [formula.subs(n, length) for length in range(1, 10)] == expected
        assert list(one.flops(TINY, lengths(9), training=training)) == expected


def test_a_window_is_seen_by_the_exact_convention_alone():
    windowed = Configuration.alike("w", LAYER, Window(width=2))
    full = Configuration.alike("f", LAYER, Full())
    ours, theirs = flops_by_convention(windowed, 64), flops_by_convention(full, 64)
    assert {name for name in ours if ours[name] != theirs[name]} == {"exact"}
    assert theirs["exact"] == theirs["dense"]


def test_the_width_of_attention_is_that_of_its_heads():
    """Qwen3-4B has 32 heads of 128 features for 2,560 of a token; torchtitan issue 1920."""
    model = preset("qwen3-4b")
    assert model.block.d_model == 2560
    per_token = 3 * convention("palm").attention(model, 1000) // 1000
    assert per_token == 12 * 36 * 4096 * 1000


def test_a_factor_turns_one_convention_into_another_and_back():
    model = gpt(layers=2, hidden=64, heads=4, vocabulary=100, length=32)
    for training in (False, True):
        flops = flops_by_convention(model, 32, training=training)
        for source in conventions():
            there = convention(source).factor(convention("exact"), model, 32, training=training)
            assert flops[source] * there == pytest.approx(flops["exact"], rel=1e-12)


def row(phase, step, dense, useful, executed=0):
    cost = Cost(dense=dense, useful=useful, executed=executed or dense)
    return Row(module="", phase=phase, step=step, operation="any", calls=1, cost=cost)


def test_what_was_counted_is_given_in_the_conventions_that_need_no_sizes():
    counted = Counted(
        name="any",
        rows=(
            row("forward", "weights", 1000, 1000),
            row("forward", "attention", 200, 110),
            row("forward", "activations", 40, 40),
            row("backward", "attention", 400, 220),
            row("recomputation", "attention", 0, 0, executed=100),
        ),
        attention=(),
        unpriced=(),
        modules={"": "Any"},
        parameters=0,
    )
    assert seen_by_convention(counted) == {
        "exact": 1000 + 110 + 40 + 220,
        "half": 1000 + (200 + 40 + 400) // 2,
        "dense": 1640,
        "macs": 820,
    }


def test_an_unknown_convention_is_refused_with_the_nearest_name():
    with pytest.raises(UnknownName, match="no convention is called 'kaplann'; did you mean 'kapl"):
        convention("kaplann")
