"""Decoders with latent attention."""

import pytest
import torch
from tests.cost.families.against import built, check_cache, check_flops, check_parameters, read

from attncost.core.errors import ShapeError
from attncost.cost.reading import preset
from attncost.integrations.weightless import Call, counted

SIZES = {
    "vocab_size": 96,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "intermediate_size": 48,
    "tie_word_embeddings": False,
    "q_lora_rank": 24,
    "kv_lora_rank": 16,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 8,
    "v_head_dim": 24,
    "n_routed_experts": 8,
    "num_experts_per_tok": 3,
    "moe_intermediate_size": 16,
    "first_k_dense_replace": 1,
}
GROUPS = {"n_group": 2, "topk_group": 1}
V2 = {"model_type": "deepseek_v2", "architectures": ["DeepseekV2ForCausalLM"]}
V3 = GROUPS | {"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"]}
V32 = GROUPS | {
    "model_type": "deepseek_v32",
    "architectures": ["DeepseekV32ForCausalLM"],
    "index_topk": 5,
    "index_head_dim": 16,
    "index_n_heads": 2,
}
GLM = {"model_type": "glm4_moe_lite", "architectures": ["Glm4MoeLiteForCausalLM"]}
KINDS = [
    V2,
    V2 | {"q_lora_rank": None, "first_k_dense_replace": 0, "n_shared_experts": 1},
    V2 | {"attention_bias": True, "mlp_bias": True, "v_head_dim": 8},
    V3,
    V3 | {"q_lora_rank": None, "attention_bias": True, "first_k_dense_replace": 3},
    GLM,
    GLM | {"mlp_layer_types": ["sparse", "dense"], "n_shared_experts": 2},
]


@pytest.mark.parametrize("kind", KINDS, ids=range(len(KINDS)))
def test_decoders_are_what_transformers_builds(kind):
    settings = SIZES | kind
    check_parameters(settings)
    check_flops(settings, lengths=(33,))
    check_cache(settings)


def test_the_decoder_with_an_indexer_is_what_transformers_builds():
    """It multiplies all pairs and hides the others by a mask, so its useful FLOPs are not seen."""
    settings = SIZES | V32
    check_parameters(settings)
    model, theirs = read(settings), built(settings)
    call = Call(theirs.module, (), theirs.inputs(33, 1), unpadded=True)
    assert model.cost(33).dense == counted(call, name="V3.2").dense
    hidden = sum(length - min(length, 5) for length in range(1, 34))
    later = 33 * 32 // 2
    # Of two products for each head of attention, and of the indexer's two.
    unread = 2 * (hidden + later) * 4 * (24 + 24) + 2 * later * 2 * (16 + 1)
    assert model.cost(33).dense - model.cost(33).useful == 2 * unread


def test_the_indexer_keeps_a_key_of_its_own():
    settings = SIZES | V32
    with torch.no_grad():
        theirs = built(settings)
        layers = theirs.module(**theirs.inputs(2, 1)).past_key_values.layers
    kept = [(layer.keys, layer.values, layer.indexer_keys) for layer in layers]
    assert read(settings).cached(2) == sum(one.numel() for three in kept for one in three)


@pytest.mark.parametrize(("name", "found"), [("deepseek-v2", 69_120), ("deepseek-v3", 70_272)])
def test_bytes_of_the_cache_are_those_of_the_paper(name, found):
    """(d_c + d_h^R) l numbers of a token: arXiv:2405.04434, Table 1, and arXiv:2412.19437."""
    model = preset(name)
    assert model.kv_bytes_per_token() == found
    assert model.cached(1) == (512 + 64) * model.layers


def test_what_the_formulas_leave_out_is_said():
    notes = " ".join(preset("deepseek-v3").notes)
    assert "layers that predict further tokens are left out" in notes
    assert "absorbed" in notes
    assert "further tokens" not in " ".join(preset("deepseek-v2").notes)


def test_a_cache_is_small_for_absorbed_matrices_cost_more_at_each_pair():
    """576 + 512 numbers for each pair and head, where a prompt takes 192 + 128."""
    (stack, *_) = preset("deepseek-v3").stack
    (mixer,) = stack.layer.mixers
    _, core = mixer.decode(1000)
    assert core.useful == 2 * 128 * 1000 * (576 + 512)
    assert mixer.core(1, 1000).useful == 2 * 128 * 1000 * (192 + 128)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (V3 | {"num_key_value_heads": 2}, "has 2 num_key_value_heads beside latent attention"),
        (V2 | {"num_experts_per_tok": None}, "num_experts_per_tok .* got None"),
        (V2 | {"moe_layer_freq": 2}, "moe_layer_freq"),
        (V32 | {"q_lora_rank": None}, "q_lora_rank .* got None"),
        (GLM | {"mlp_layer_types": ["sparse"]}, "mlp_layer_types .* in 2 layers"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(kind, reason):
    with pytest.raises(ShapeError, match=reason):
        read(SIZES | kind)
