"""Decoders of gated DeltaNet and gated attention."""

import pytest
from tests.cost.families.against import read
from tests.cost.families.stateful import check

from attncost.core.errors import ShapeError
from attncost.cost.reading import preset

SIZES = {
    "vocab_size": 100,
    "hidden_size": 48,
    "num_hidden_layers": 3,
    "full_attention_interval": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 80,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 12,
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "tie_word_embeddings": False,
}
ROUTED = SIZES | {
    "num_experts": 6,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 24,
    "shared_expert_intermediate_size": 40,
}
NEXT = ROUTED | {"model_type": "qwen3_next", "architectures": ["Qwen3NextForCausalLM"]}
KINDS = [
    {key: one for key, one in NEXT.items() if key != "full_attention_interval"}
    | {"num_hidden_layers": 4},
    NEXT | {"num_experts": 0, "attention_bias": True},
    NEXT | {"decoder_sparse_step": 2, "mlp_only_layers": [1]},
    NEXT | {"architectures": ["Qwen3NextModel"], "tie_word_embeddings": True},
    SIZES | {"model_type": "qwen3_5_text", "architectures": ["Qwen3_5ForCausalLM"]},
    ROUTED | {"model_type": "qwen3_5_moe_text", "architectures": ["Qwen3_5MoeForCausalLM"]},
]


@pytest.mark.parametrize("settings", KINDS, ids=range(len(KINDS)))
def test_decoders_are_what_transformers_builds(settings):
    check(settings)


def test_of_a_model_that_sees_images_the_part_that_reads_text_is_read():
    text = KINDS[4] | {"architectures": None}
    whole = {
        "model_type": "qwen3_5",
        "architectures": ["Qwen3_5ForConditionalGeneration"],
        "text_config": text,
        "vision_config": {"depth": 2},
    }
    model = read(whole)
    assert model.parameters == read(KINDS[4]).parameters
    assert any("images" in note for note in model.notes)
    with pytest.raises(ShapeError, match=r"this model has no text_config of its own"):
        read({"model_type": "qwen3_5_moe"})


def test_the_preset_has_the_published_sizes():
    """Weights of Qwen3-Coder-Next, of the same sizes, are published without further layers.

    80 billion parameters of which 3 are active: the model cards; embedding and head left out.
    """
    model = preset("qwen3-next-80b-a3b")
    assert model.parameters == 79_674_391_296
    assert round((model.active - 2 * model.tables) / 1e9) == 3
    # Twelve layers of two heads with 256 features each: 24 KiB a token at 16 bit.
    assert model.kv_bytes_per_token() == 12 * 2 * 2 * 256 * 2


def test_a_layer_of_a_kind_that_is_not_known_is_refused():
    with pytest.raises(ShapeError, match=r"layer of type 'sliding_attention'.*count its module"):
        read(NEXT | {"layer_types": ["sliding_attention"] * 3})
    with pytest.raises(ShapeError, match=r"linear_num_key_heads .* got 3 for 4"):
        read(NEXT | {"linear_num_key_heads": 3})
