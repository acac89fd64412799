"""Crossovers against published closed forms and by hand; `unhooked` holds brute force."""

import numpy as np
import pytest
from tests.papers import PUBLISHED

from attncost import BlockSizes, Causal, Full, Window, mechanism
from attncost.cost.crossovers import Contender, crossovers
from attncost.cost.derivation import outgrows_rest
from attncost.cost.worked_out import cheaper_at
from attncost.kernels import kernel

SIZES = BlockSizes(d_model=64, heads=4, kv_heads=2)
FLEX, FOLDED, REFERENCE, SDPA = map(kernel, ("flex", "folded", "reference", "sdpa"))


def said(found, measure):
    return (found[measure].first, found[measure].lasting, found[measure].times)


def test_a_window_wins_for_good_once_it_is_shorter_than_the_sequence():
    found = crossovers(Contender(Window(256)), Contender(Causal()), SIZES)
    assert said(found, "useful") == (257, 257, 1)
    assert found["useful"].longest == 1 << 14
    assert found["memory"] is None


def test_a_sawtooth_is_reported_with_all_its_teeth():
    """Blocks of 128 x 128 against exact pairs, which grow while the blocks stay the same."""
    found = crossovers(Contender(Window(256), FLEX), Contender(Causal(), SDPA), SIZES, limit=4096)
    blocks = [128**2 * sum(min(row + 1, 3) for row in range(-(-n // 128))) for n in range(1, 4097)]
    wins = [block < n * n for n, block in enumerate(blocks, 1)]
    changes = [n for n in range(2, 4097) if wins[n - 1] != wins[n - 2]]
    assert said(found, "executed") == (changes[0], changes[-1], len(changes))
    assert len(changes) == 3, "it is no sawtooth"


def test_fused_attention_holds_less_than_naive_from_the_features_of_a_head_on():
    """2 n² h + 3 n d against 5 n d: they meet at n = d / h, by the published closed forms."""
    found = crossovers(Contender(Full(), SDPA), Contender(Full(), REFERENCE), SIZES, limit=500)
    assert said(found, "memory") == (17, 17, 1)
    masked = crossovers(
        Contender(Window(9), SDPA), Contender(Window(9), REFERENCE), SIZES, limit=500
    )
    # A mask of n² numbers and n² bytes beside: (2 h - 1.25) n² against 2 n d.
    assert masked["memory"].lasting == 19


def test_memory_without_a_formula_is_not_guessed():
    for one in (Contender(Full(), FOLDED), Contender(Full()), Contender(mechanism("linformer"))):
        assert crossovers(one, Contender(Full(), SDPA), SIZES, limit=64)["memory"] is None


@pytest.mark.parametrize("d", [64, 96])
def test_attention_outgrows_the_rest_where_algebra_says(d):
    published = PUBLISHED["crossovers"]
    layer, block = BlockSizes(d_model=d, heads=4), BlockSizes(d_model=d, heads=4, hidden=4 * d)
    for key, attention, sizes in (
        ("attention_equals_projections", Full(), layer),
        ("dense_attention_equals_whole_layer", Full(), block),
        ("causal_attention_equals_whole_layer", Causal(), block),
    ):
        meet = eval(published[key], {"__builtins__": {}}, {"d": d})
        assert outgrows_rest(attention, sizes, limit=16 * d) == meet


def test_what_takes_too_long_says_how_far_it_reached():
    same = Contender(Causal(), FOLDED)
    found = crossovers(same, same, SIZES, limit=4096, effort=3000)["executed"]
    assert 10 < found.longest < 200
    assert (found.first, found.lasting, found.times) == (None, None, 0)


def test_lengths_known_at_once_need_no_plan():
    short, long = (pattern.pairs for pattern in (Window(3), Causal()))
    lengths = [1, 2, 3, 4, 5]
    mine, theirs = (np.array([f(n, n) for n in lengths], dtype=object) for f in (short, long))
    assert cheaper_at(mine, theirs, 5, effort=0).tolist() == [False, False, False, True, True]
