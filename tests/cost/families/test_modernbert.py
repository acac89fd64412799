"""Encoders of ModernBERT."""

import pytest
from tests.cost.families.against import check_flops, check_parameters, read
from tests.cost.families.weighed import check_pairs

from attncost import Full, Window
from attncost.core.errors import ShapeError

SIZES = {
    "model_type": "modernbert",
    "architectures": ["ModernBertForMaskedLM"],
    "vocab_size": 100,
    "hidden_size": 48,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 80,
    "local_attention": 8,
    "pad_token_id": 0,
}
BIASED = dict.fromkeys(("attention_bias", "mlp_bias", "norm_bias", "classifier_bias"), True)
ALTERNATE = {"layer_types": ["sliding_attention", "full_attention"] * 2}


@pytest.mark.parametrize(
    "settings",
    [
        SIZES,
        SIZES | BIASED | {"decoder_bias": False, "tie_word_embeddings": False},
        SIZES | ALTERNATE | {"architectures": ["ModernBertModel"]},
    ],
    ids=range(3),
)
def test_encoders_are_what_transformers_builds(settings):
    check_parameters(settings)
    check_flops(settings, (1, 13))


def test_a_window_reads_as_far_on_both_sides():
    check_pairs(SIZES | {"local_attention": 9})
    model = read(SIZES)
    assert model.patterns == {Full(): 2, Window(9, ahead=4): 2}
    assert not model.caches


def test_the_published_sizes_have_their_published_parameters():
    """As in the published weights of ModernBERT-base, whose paper rounds them to 149 million."""
    base = {
        "model_type": "modernbert",
        "architectures": ["ModernBertModel"],
        "hidden_size": 768,
        "num_hidden_layers": 22,
        "num_attention_heads": 12,
        "intermediate_size": 1152,
    }
    assert read(base).parameters == 149_014_272
    assert read(base).patterns == {Full(): 8, Window(129, ahead=64): 14}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (SIZES | {"architectures": ["ModernBertForTokenClassification"]}, "saved as neither"),
        (SIZES | {"layer_types": ["full_attention"]}, "4 layers and 1 layer_types"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(settings, reason):
    with pytest.raises(ShapeError, match=reason):
        read(settings)
