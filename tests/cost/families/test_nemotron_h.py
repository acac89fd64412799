"""Decoders whose layers are one thing each."""

import pytest
from tests.cost.families.against import read
from tests.cost.families.stateful import check

from attncost.core.errors import ShapeError

SIZES = {
    "model_type": "nemotron_h",
    "architectures": ["NemotronHForCausalLM"],
    "vocab_size": 100,
    "hidden_size": 48,
    "intermediate_size": 80,
    "hybrid_override_pattern": "M-M*-ME",
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "mamba_num_heads": 6,
    "mamba_head_dim": 8,
    "n_groups": 2,
    "ssm_state_size": 10,
    "chunk_size": 16,
    "n_routed_experts": 4,
    "moe_intermediate_size": 24,
    "moe_shared_expert_intermediate_size": 32,
}
LISTED = ["mamba", "moe", "attention", "mlp"]


@pytest.mark.parametrize(
    "settings",
    [
        SIZES,
        SIZES | {"hybrid_override_pattern": "M-*", "use_bias": True, "mlp_bias": True},
        SIZES | {"layers_block_type": LISTED, "mamba_conv_bias": False},
    ],
    ids=["pattern", "biased", "listed"],
)
def test_decoders_are_what_transformers_builds(settings):
    check(settings)


def test_what_is_not_understood_is_refused_by_name():
    with pytest.raises(ShapeError, match=r"has a layer of type 'X'"):
        read(SIZES | {"hybrid_override_pattern": "MX"})
    with pytest.raises(ShapeError, match=r"moe_latent_size.*count its module"):
        read(SIZES | {"moe_latent_size": 16})
