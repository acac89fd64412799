import json
import math

import pytest
import torch
from einops import rearrange
from tests.train.small import SIZES, Either, Ragged
from torch import nn

from attncost import Causal, Full, Linformer, Window, capture
from attncost.nn import Attention
from attncost.train.telemetry import LayerRow, Row, layer_rows
from attncost.train.transformer import Sizes, Transformer


def by_hand(model, tokens):
    """Return the largest logit and the mean entropy of a model's first layer, in float64."""
    attention = model.blocks[0].attention
    x = model.mixers[0](model.embedding(tokens) + model.positions.weight)
    qkv = rearrange(attention.qkv(model.blocks[0].attention_norm(x)), "b n (h d) -> b h n d", d=4)
    q, k, _ = qkv.double().split(2, 1)
    q, k = (x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() for x in (q, k))
    q = q * attention.q_norm.weight
    scores = (q @ k.mT / 2).masked_fill(torch.ones(9, 9).triu(1).bool(), -math.inf)
    weights = scores.softmax(-1)
    return float(scores.max()), float(-torch.xlogy(weights, weights).sum(-1).mean())


def test_logits_and_entropies_are_those_of_the_first_sequences(generator):
    model = Transformer(Ragged(), Causal(), SIZES)
    with torch.no_grad():
        model.blocks[0].attention.q_norm.weight.fill_(5.0)
        tokens = torch.randint(7, (6, 9), generator=generator)
        with capture(model) as captured:
            model(tokens)
        rows = layer_rows(model, captured)
        logit, entropy = by_hand(model, tokens[:4])
        assert by_hand(model, tokens)[1] != pytest.approx(entropy, rel=1e-4)
    assert len(rows) == 2
    assert rows[0].largest_logit == pytest.approx(logit, rel=1e-5)
    assert rows[0].entropy == pytest.approx(entropy, rel=1e-5)


def test_calls_of_one_layer_are_put_together(generator):
    attention = Attention(8, 2, Window(4))
    one, other = torch.randn(2, 3, 6, 8, generator=generator)
    rows = []
    for given in ([one], [other], [one, other]):
        with torch.no_grad(), capture(attention) as captured:
            for x in given:
                attention(x)
        rows += layer_rows(attention, captured)
    first, second, both = rows
    assert both.largest_logit == max(first.largest_logit, second.largest_logit)
    assert both.entropy == pytest.approx((first.entropy + second.entropy) / 2)


def test_a_mechanism_has_neither_and_keeps_its_place(generator):
    model = Transformer(Either(), Full(), Sizes(d_model=8, layers=3, heads=2))
    # It calls a function of attention inside, over mixtures of keys.
    model.blocks[1].attention = Attention(8, 2, Linformer(4), length=9)
    with torch.no_grad(), capture(model) as captured:
        model(torch.randint(7, (2, 9), generator=generator))
    rows = layer_rows(model, captured)
    assert [row.entropy is None for row in rows] == [False, True, False]
    assert rows[1] == LayerRow(None, None)
    only = Transformer(Either(), Linformer(4), SIZES)
    with torch.no_grad(), capture(only) as captured:
        only(torch.randint(7, (2, 9), generator=generator))
    assert layer_rows(only, captured) == (LayerRow(None, None),) * 2


def test_queries_that_read_nothing_are_left_out(generator):
    attention, x = Attention(8, 2), torch.randn(6, 5, 8, generator=generator)
    hidden = torch.arange(6)[:, None] < torch.tensor([2])
    with torch.no_grad(), capture(attention) as captured:
        attention(x, key_mask=hidden.expand(6, 5))
    (row,) = layer_rows(attention, captured)
    with torch.no_grad(), capture(attention) as alone:
        attention(x[:2])
    assert row == layer_rows(attention, alone)[0]
    with torch.no_grad(), capture(attention) as captured:
        attention(x, key_mask=torch.zeros(6, 5).bool())
    assert layer_rows(attention, captured) == (LayerRow(None, None),)


def test_documents_and_a_bias_are_those_of_the_first_sequences(generator):
    class Biased(nn.Module):
        def forward(self, q, bias):
            return nn.functional.scaled_dot_product_attention(q, q, q, attn_mask=bias)

    segments = torch.tensor([[0, 0, 1, 1, 1]]).repeat(6, 1)
    attention, x = Attention(8, 2), torch.randn(6, 5, 8, generator=generator)
    biased, q = Biased(), torch.randn(6, 2, 5, 4, generator=generator)
    bias = torch.randn(6, 1, 5, 5, generator=generator)
    found = []
    for some in (slice(None), slice(4)):
        with torch.no_grad(), capture(attention) as captured:
            attention(x[some], segments=segments[some])
        found += layer_rows(attention, captured)
        with torch.no_grad(), capture(biased) as captured:
            biased(q[some], bias[some])
        found += layer_rows(biased, captured)
    assert found[:2] == found[2:]
    assert float((q[:4] @ q[:4].mT / 2 + bias[:4]).max()) == pytest.approx(found[1].largest_logit)


def test_a_model_without_attention_has_no_layers():
    with capture(nn.Linear(2, 2)) as captured:
        pass
    assert layer_rows(nn.Linear(2, 2), captured) == ()


@pytest.mark.parametrize("odd", [math.nan, math.inf, -math.inf])
def test_a_row_is_the_same_after_writing_and_reading(odd):
    row = Row(3, odd, 0.1 + 0.2, odd, (LayerRow(odd, 1 / 3), LayerRow(None, None)))
    text = json.dumps(row.written(), allow_nan=False)
    assert repr(Row.of(json.loads(text))) == repr(row)
    bare = Row(0, 1.5, 1e-3, 2.5)
    assert Row.of(json.loads(json.dumps(bare.written()))) == bare
