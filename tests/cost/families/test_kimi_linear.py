"""Decoders of Kimi Delta Attention and latent attention."""

import pytest
from tests.cost.families.against import check_parameters, read
from tests.cost.families.stateful import check

from attncost.core.errors import ShapeError
from attncost.cost.reading import preset

SIZES = {
    "model_type": "kimi_linear",
    "architectures": ["KimiLinearForCausalLM"],
    "vocab_size": 100,
    "pad_token_id": None,
    "hidden_size": 48,
    "num_hidden_layers": 3,
    "layer_types": ["linear_attention", "full_attention", "full_attention"],
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "intermediate_size": 80,
    "kv_lora_rank": 20,
    "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 12,
    "v_head_dim": 10,
    "moe_intermediate_size": 24,
    "linear_head_dim": 16,
    "linear_num_heads": 3,
}
UNLISTED = {key: one for key, one in SIZES.items() if key != "layer_types"}
WRITTEN = SIZES | {"num_local_experts": 8, "num_experts_per_tok": 2}
NESTED = {
    "full_attn_layers": [1, 3],
    "kda_layers": [2],
    "head_dim": 24,
    "num_heads": 2,
    "short_conv_kernel_size": 4,
}
PUBLISHED = UNLISTED | {
    "num_experts": 8,
    "num_experts_per_token": 3,
    "num_shared_experts": 2,
    "linear_attn_config": NESTED,
}


@pytest.mark.parametrize(
    "settings",
    [
        WRITTEN,
        WRITTEN | {"q_lora_rank": 9, "attention_bias": True, "first_k_dense_replace": 2},
        WRITTEN | {"mlp_layer_types": ["dense", "sparse", "dense"], "tie_word_embeddings": True},
        PUBLISHED,
    ],
    ids=["written", "biased", "listed", "published"],
)
def test_decoders_are_what_transformers_builds(settings):
    check(settings)


def test_kinds_of_layers_that_are_not_said_are_those_that_transformers_takes():
    check_parameters(WRITTEN | {"num_hidden_layers": 6, "layer_types": None})


def test_the_preset_has_the_published_sizes():
    """A quarter of the layers cache (arXiv:2510.26692): the paper's "up to 75 %" less."""
    model = preset("kimi-linear-48b-a3b")
    assert round(int(model.parameters) / 1e9) == 49
    assert round((model.active - 2 * model.tables) / 1e9) == 3
    assert model.kv_bytes_per_token() == 7 * (512 + 64) * 2
    assert model.kv_bytes_per_token() / (27 * (512 + 64) * 2) == pytest.approx(0.25, abs=0.01)


def test_layers_that_are_not_numbered_once_each_are_refused():
    twice = {**NESTED, "kda_layers": [2, 3]}
    with pytest.raises(ShapeError, match=r"full_attn_layers \[1, 3\] and kda_layers"):
        read(PUBLISHED | {"linear_attn_config": twice})
    with pytest.raises(ShapeError, match=r"has 2 num_key_value_heads beside latent attention"):
        read(WRITTEN | {"num_key_value_heads": 2})
