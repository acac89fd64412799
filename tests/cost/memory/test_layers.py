from functools import partial

import pytest
import torch
from tests.cost.memory.layers import Fused, Naive
from tests.cost.memory.real_calls import measured, predicted
from tests.every import PATTERNS
from torch import nn

import attncost as ac

D, H = 64, 4
MULTI_HEAD = partial(nn.MultiheadAttention, D, H, batch_first=True)
ENCODER = partial(nn.TransformerEncoderLayer, D, H, 4 * D, batch_first=True)
LAYERS = {
    "naive": lambda: Naive(D, H),
    "fused": lambda: Fused(D, H),
    "encoder": ENCODER,
    "encoder without dropout": lambda: ENCODER(dropout=0.0),
    "norm first": lambda: ENCODER(norm_first=True, activation="gelu"),
    "two encoders": lambda: nn.TransformerEncoder(ENCODER(dropout=0.0), 2),
    "ours": lambda: ac.nn.Attention(D, H),
    "causal block": lambda: ac.nn.TransformerBlock(ac.nn.Attention(D, H, ac.Causal())),
}
# One of each kind: the last of its examples is rarely an edge case.
KINDS = list({type(pattern): pattern for pattern in PATTERNS}.values())


def assert_close(module, *inputs, training, **options):
    """Scalars that PyTorch wraps, 8 bytes each, are the only difference allowed."""
    found = predicted(module, *inputs, training=training, **options)
    expected = measured(module, *inputs, training=training, **options)
    assert found.above == pytest.approx(expected, abs=24)
    return found


def assert_exact(module, *inputs, training, **options):
    found = assert_close(module, *inputs, training=training, **options)
    assert found.exact, found.at_least


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_the_peak_of_a_layer_is_the_allocators(name, training):
    module = LAYERS[name]().train(training)
    assert_exact(module, torch.randn(2, 300, D), training=training)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("weights", [False, True])
def test_so_is_that_of_multi_head_attention_on_both_paths(weights, training):
    module, x = MULTI_HEAD().train(training), torch.randn(2, 300, D)
    assert_exact(module, x, x, x, training=training, need_weights=weights)


@pytest.mark.parametrize("name", ["naive", "fused"])
def test_long_sequences_are_as_exact(name):
    module = {"naive": Naive, "fused": Fused}[name](16, 1)
    assert_exact(module, torch.randn(1, 4096, 16), training=name == "fused")


@pytest.mark.parametrize("name", ["naive", "fused", "encoder without dropout"])
def test_an_input_that_learns_gathers_gradients_where_autograd_adds_in_place(name):
    x = torch.randn(2, 300, D, requires_grad=True)
    assert_exact(LAYERS[name](), x, training=True)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("pattern", KINDS, ids=str)
def test_each_of_our_patterns_is_exact_with_its_usual_kernel(pattern, training):
    module = ac.nn.TransformerBlock(ac.nn.Attention(32, 4, pattern, kv_heads=2))
    assert_exact(module, torch.randn(2, 300, 32), training=training)


@pytest.mark.parametrize(
    ("pattern", "batch", "n"),
    [
        # Steps that grow, more sequences and groups of heads than are run, uneven steps.
        (ac.pattern("fixed", stride=16), 1, 700),
        (ac.Window(40), 4, 300),
        (ac.pattern("bigbird", block=16), 1, 500),
    ],
    ids=str,
)
def test_steps_that_are_left_out_change_nothing(pattern, batch, n):
    module = ac.nn.Attention(48, 6, pattern, kv_heads=1)
    assert_exact(module, torch.randn(batch, n, 48), training=True)


def test_published_closed_forms_come_out():
    # Elements live at the peak of one layer, batch 1, published and measured by others.
    n, d, h = 512, 512, 8
    x = torch.randn(1, n, d)
    naive, fused = Naive(d, h), Fused(d, h)
    encoder = nn.TransformerEncoderLayer(d, h, 4 * d, batch_first=True).eval()
    closed_forms = {naive: 2 * n * n * h + 3 * n * d, encoder: n * n * h + 3 * n * d}
    for module, elements in closed_forms.items():
        assert predicted(module, x).above == pytest.approx(4 * elements, abs=12)
    scratch = predicted(fused, x).above - 4 * 5 * n * d
    assert 0 <= scratch < 1 << 17
    learning = 3 * n * n * h + 3 * n * d + d * d + d
    found = predicted(lambda x: naive(x).sum(), x, training=True)
    assert found.above == pytest.approx(4 * learning, abs=12)
    learning = 8 * n * d + d * d + d + n * h
    found = predicted(lambda x: fused(x).sum(), x, training=True)
    assert 0 <= found.above - 4 * learning < 1 << 20
