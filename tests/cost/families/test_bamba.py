"""Decoders of Mamba-2 and attention, each layer with a feed-forward."""

import pytest
from tests.cost.families.against import read
from tests.cost.families.stateful import check

from attncost.core.errors import ShapeError

SIZES = {
    "vocab_size": 100,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "mamba_n_heads": 6,
    "mamba_n_groups": 2,
    "mamba_d_state": 10,
    "mamba_chunk_size": 16,
}
BAMBA = SIZES | {
    "model_type": "bamba",
    "architectures": ["BambaForCausalLM"],
    "attn_layer_indices": [1],
}
GRANITE = SIZES | {
    "model_type": "granitemoehybrid",
    "architectures": ["GraniteMoeHybridForCausalLM"],
    "layer_types": ["mamba", "attention", "mamba"],
    "shared_intermediate_size": 40,
    "num_local_experts": 4,
}


@pytest.mark.parametrize(
    "settings",
    [
        BAMBA,
        BAMBA | {"mlp_bias": True, "attention_bias": True, "mamba_proj_bias": True},
        BAMBA | {"mamba_d_head": 32, "mamba_n_heads": 3, "mamba_n_groups": 1},
        GRANITE,
        GRANITE | {"num_local_experts": 0, "mamba_conv_bias": False},
    ],
    ids=["bamba", "biased", "wide", "granite", "dense"],
)
def test_decoders_are_what_transformers_builds(settings):
    check(settings)


def test_an_older_name_for_the_kinds_of_layers_is_read_too():
    older = {**GRANITE, "layers_block_type": GRANITE["layer_types"]}
    del older["layer_types"]
    assert read(older) == read(GRANITE)


def test_heads_that_are_not_as_wide_as_the_inside_are_refused():
    with pytest.raises(ShapeError, match=r"mamba_n_heads \* mamba_d_head .* got 6 \* 8 for 96"):
        read(BAMBA | {"mamba_d_head": 8})
