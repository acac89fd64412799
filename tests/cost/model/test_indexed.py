"""Attention over the keys that an indexer picks, against one written out with torch."""

import pytest
import torch
from tests.cost.model.saved import flops

from attncost import Window
from attncost.core.counts import symbol
from attncost.cost.model.indexed import Indexed
from attncost.cost.model.latent import Latent

LATENT = Latent(d_model=20, heads=3, rank=10, query_rank=14, nope_dim=8, rope_dim=4, value_dim=12)
SIZES = Indexed(latent=LATENT, heads=5, head_dim=6, top=4)


def index(q, k, weights):
    """Return a score for each pair, weighted over heads that share a key."""
    return torch.einsum("nhm,nh->nm", (q @ k.T).relu(), weights)


@pytest.mark.parametrize("length", [1, 4, 5, 33])
def test_pairs_are_counted_one_by_one(length):
    core = SIZES.core(length, length)
    read = sum(min(i + 1, 4) for i in range(length))
    scored = sum(i + 1 for i in range(length))
    assert core.useful == 2 * scored * (5 * 6 + 5) + 2 * read * 3 * (12 + 12)
    everything = 2 * length**2 * 3 * (12 + 12)
    q, k, w = torch.randn(length, 5, 6), torch.randn(length, 6), torch.randn(length, 5)
    assert core.dense - everything == flops(index, q, k, w)


@pytest.mark.parametrize("context", [1, 3, 4, 33])
def test_a_step_scores_all_and_reads_the_best(context):
    linear, core = SIZES.decode(context)
    plain, reads = LATENT.decode(min(context, 4))
    assert core.useful - reads.useful == 2 * context * (5 * 6 + 5)
    assert linear.useful - plain.useful == 2 * (14 * 5 * 6 + 20 * 6 + 20 * 5)
    assert SIZES.cached(context) - LATENT.cached(context) == 6 * context


def test_another_attention_takes_the_place_of_both():
    assert SIZES.core(33, 33, Window(9)) == LATENT.core(33, 33, Window(9))


def test_the_formula_in_symbols_gives_the_numbers():
    n = symbol("n")
    for of in (
        lambda m: SIZES.core(m, m).useful,
        lambda m: SIZES.decode(m)[1].useful,
        lambda m: SIZES.live(m, keeps_weights=False) + SIZES.kept(m, keeps_weights=False),
    ):
        assert of(n).subs(n, 77) == of(77)
