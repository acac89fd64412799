"""Prices of MiniLM with its own weights, on the first lines of a novel."""

from functools import cache
from pathlib import Path

import pytest
import torch
from tests.view.prices import brute
from tests.view.prices.watched import narrowed, watched
from transformers import AutoModel, AutoTokenizer

from attncost import Full, Window
from attncost.integrations.pretrained import demo_folder
from attncost.view.prices.heads import head_prices
from attncost.view.prices.layers import layer_prices
from attncost.view.prices.pieces import one_head
from attncost.view.statistics.statistics import statistics

NOVEL = Path(__file__).parents[3] / "examples/data/pride_and_prejudice.txt"
LAYER = "encoder.layer.2.attention.self"


@cache
def model():
    return AutoModel.from_pretrained(demo_folder(), dtype=torch.float32).eval()


@cache
def inputs():
    tokenizer = AutoTokenizer.from_pretrained(demo_folder())
    text = " ".join(NOVEL.read_text().splitlines()[:40])
    return dict(tokenizer(text, return_tensors="pt", truncation=True, max_length=512))


@cache
def priced():
    call = watched(model(), inputs())[LAYER]
    return call, statistics(call.q, call.k, None, call.pattern, **call.wishes)


def test_a_layer_of_real_weights_moves_the_model_as_its_dense_mask_does():
    (price,) = layer_prices(model(), inputs(), {LAYER: priced()}, mass=0.8).values()
    assert price.line == "ac.hf.swap(model, ac.Window(311, ahead=155), layers=[2])"
    with torch.no_grad():
        before = model()(**inputs()).last_hidden_state
        with narrowed(model(), LAYER, brute.reads(Window(311, ahead=155), 512, 512)):
            after = model()(**inputs()).last_hidden_state
    assert price.damage == pytest.approx(float((after - before).norm() / before.norm()), rel=1e-3)
    assert price.sentence == (
        "80 % of the mass of its 12 heads lies within 155 tokens on each side: a window would cost "
        "0.803 x (its FLOPs: at 512 tokens it takes no less time on a CPU) and move the last "
        f"hidden states of the model by {100 * price.damage:.1f} %."
    )


def test_heads_of_real_weights_hold_their_mass_and_move_as_dense_masks_say():
    call, found = priced()
    prices = head_prices(call, found, mass=0.8)
    offered = [price for price in prices if price.pattern is not None]
    assert len(offered) >= 4
    for price in offered[:2]:
        head, inside = one_head(call, price.head), brute.reads(price.pattern, 512, 512)
        assert 0.8 - 1e-6 <= (brute.weights(head) * inside)[0, 0].sum(-1).mean() < 0.81
        own, after = brute.outputs(head), brute.outputs(head, inside)
        assert price.moves == pytest.approx(float((after - own).norm() / own.norm()), rel=1e-4)
        assert price.share < 1


def test_no_layer_of_a_sentence_encoder_keeps_its_mass_near():
    assert isinstance(priced()[0].pattern, Full)
    (price,) = layer_prices(model(), inputs(), {LAYER: priced()}).values()
    assert (price.line, price.share, price.width) == (None, None, 665)
    assert price.sentence == (
        "95 % of the mass of its 12 heads takes 332 of 511 tokens on each side: no window is "
        "cheaper."
    )
