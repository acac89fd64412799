"""Longformer against the patterns that it is made of, and against Hugging Face's own layer."""

import pytest
import torch
from tests.every import every_size

from attncost import ShapeError, Window, pattern
from attncost.core.counts import symbol
from attncost.core.formula import for_long, text
from attncost.patterns.longformer import Longformer


@every_size
@pytest.mark.parametrize("ahead", [0, 7, 15])
def test_it_is_a_window_and_global_tokens(n, m, ahead):
    parts = Window(16, ahead=ahead), pattern("global_tokens", tokens=9)
    joined = torch.logical_or(*(one.mask(n, m) for one in parts))
    assert torch.equal(Longformer(16, 9, ahead).mask(n, m), joined)


def test_the_window_is_centred_unless_told_otherwise():
    assert Longformer() == Longformer(513, 16, ahead=256)
    assert Longformer(4, ahead=0).ahead == 0


def test_it_is_linear_in_the_length():
    """A token reads the window and `tokens` keys, and `tokens` queries read it."""
    n = symbol("n")
    assert text(for_long(Longformer().pairs(n, n))).startswith(f"{513 + 16 + 16}·n ")


@pytest.mark.parametrize("global_tokens", [0, 1, 3])
def test_hugging_face_reads_the_same_keys(global_tokens):
    """Which hidden states reach which output, told by the gradient of its own layer."""
    longformer = pytest.importorskip("transformers.models.longformer.modeling_longformer")
    config = longformer.LongformerConfig(
        hidden_size=4, num_attention_heads=1, num_hidden_layers=1, attention_window=[6]
    )
    config.attention_probs_dropout_prob = 0.0
    torch.manual_seed(0)
    layer, n = longformer.LongformerSelfAttention(config, 0).eval().double(), 24
    is_global = torch.arange(n)[None] < global_tokens

    def attend(hidden):
        return layer(
            hidden[None],
            attention_mask=torch.where(is_global, 10000.0, 0.0).double(),
            is_index_masked=torch.zeros(1, n, dtype=torch.bool),
            is_index_global_attn=is_global,
            is_global_attn=global_tokens > 0,
        )[0][0]

    hidden = torch.randn(n, 4, dtype=torch.float64)
    reached = torch.autograd.functional.jacobian(attend, hidden).abs().amax((1, 3)) > 0
    assert torch.equal(reached, Longformer.from_hugging_face(6, global_tokens).mask(n, n))


def test_mistakes_are_explained():
    with pytest.raises(ShapeError, match="attention_window must be even and at least 2, got 5"):
        Longformer.from_hugging_face(5, 1)
    with pytest.raises(ShapeError, match=r"width must be at least 1 .*, got 0"):
        Longformer(0)
    with pytest.raises(ShapeError, match="tokens must be at least 0, got -1"):
        Longformer(3, -1)
    with pytest.raises(ShapeError, match="ahead must lie between 0 and width - 1 = 3, got 4"):
        Longformer(4, ahead=4)
