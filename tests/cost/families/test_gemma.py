"""Decoders of Gemma 1, 2 and 3."""

import pytest
from tests.cost.families.against import check_cache, check_flops, check_parameters, read
from tests.cost.families.weighed import check_dense_flops, check_pairs

from attncost import Causal, Full, Window
from attncost.core.errors import ShapeError

SIZES = {
    "vocab_size": 100,
    "hidden_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 20,
    "intermediate_size": 80,
}
GEMMA = SIZES | {"model_type": "gemma", "architectures": ["GemmaForCausalLM"]}
SECOND = SIZES | {
    "model_type": "gemma2",
    "architectures": ["Gemma2ForCausalLM"],
    "sliding_window": 9,
}
THIRD = SIZES | {
    "model_type": "gemma3_text",
    "architectures": ["Gemma3ForCausalLM"],
    "sliding_window": 9,
}
AHEAD = THIRD | {
    "architectures": ["Gemma3TextModel"],
    "use_bidirectional_attention": True,
    "sliding_window_pattern": 3,
}
LENGTHS = (1, 13)
ALTERNATE = {"layer_types": ["full_attention", "sliding_attention", "sliding_attention"]}


@pytest.mark.parametrize(
    "settings",
    [
        GEMMA,
        GEMMA | {"attention_bias": True, "architectures": ["GemmaModel"]},
        GEMMA | {"tie_word_embeddings": False},
        THIRD | {"sliding_window_pattern": 2, "attention_bias": True},
    ],
    ids=range(4),
)
def test_decoders_are_what_transformers_builds(settings):
    check_parameters(settings)
    check_flops(settings, LENGTHS)
    check_cache(settings)


@pytest.mark.parametrize("settings", [SECOND, SECOND | ALTERNATE], ids=range(2))
def test_a_cap_on_scores_changes_no_flops(settings):
    """With a cap transformers multiplies scores by hand, under a mask that no count can read."""
    check_parameters(settings)
    check_dense_flops(settings, LENGTHS)
    check_pairs(settings)
    check_cache(settings)


@pytest.mark.parametrize("width", [8, 9])
def test_an_encoder_of_embeddings_reads_half_a_window_on_each_side(width):
    settings = AHEAD | {"sliding_window": width}
    check_parameters(settings)
    check_dense_flops(settings, LENGTHS)
    check_pairs(settings)
    assert read(settings).patterns == {Window(9, ahead=4): 2, Full(): 1}
    assert not read(settings).caches


def test_of_a_model_that_sees_images_the_part_that_reads_text_is_read():
    text = {key: size for key, size in THIRD.items() if key in SIZES or key == "sliding_window"}
    whole = {
        "model_type": "gemma3",
        "architectures": ["Gemma3ForConditionalGeneration"],
        "vision_config": {"hidden_size": 24},
        "text_config": text,
    }
    model = read(whole)
    assert model.parameters == read(THIRD).parameters
    assert model.cost(33) == read(THIRD).cost(33)
    assert "images is left out" in model.notes[0]


def test_published_sizes_have_their_published_parameters():
    """As in the published weights of Gemma 2 9B and Gemma 3 1B."""
    second = {
        "model_type": "gemma2",
        "architectures": ["Gemma2ForCausalLM"],
        "hidden_size": 3584,
        "intermediate_size": 14336,
        "num_hidden_layers": 42,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
    }
    third = {
        "model_type": "gemma3_text",
        "architectures": ["Gemma3ForCausalLM"],
        "vocab_size": 262_144,
        "hidden_size": 1152,
        "intermediate_size": 6912,
        "num_hidden_layers": 26,
        "num_attention_heads": 4,
        "num_key_value_heads": 1,
        "sliding_window": 512,
    }
    assert read(second).parameters == 9_241_705_984
    assert read(third).parameters == 999_885_952
    assert read(third).patterns == {Window(512): 22, Causal(): 4}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (GEMMA | {"architectures": ["GemmaForTokenClassification"]}, "ends in classes"),
        (SECOND | {"use_bidirectional_attention": True}, "reads ahead"),
        (SECOND | {"sliding_window": None}, "sliding_window .* got None"),
        (THIRD | {"layer_types": ["chunked_attention"] * 3}, "layer of type 'chunked_attention'"),
        ({"model_type": "gemma3"}, "no text_config"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(settings, reason):
    with pytest.raises(ShapeError, match=reason):
        read(settings)
