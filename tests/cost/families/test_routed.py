"""Decoders with experts."""

import pytest
from tests.cost.families.against import built, check_cache, check_flops, check_parameters, read

from attncost import Causal, Full, Window, hf
from attncost.core.errors import ShapeError
from attncost.cost.counting.counted import CORE
from attncost.cost.reading import preset
from attncost.integrations.weightless import Call, counted

# Of gpt-oss, in billions: its authors leave it out of what a token uses.
EMBEDDING = 201_088 * 2880 / 1e9
EXPERTS = ("num_experts", "num_local_experts")
SIZES = {
    "vocab_size": 96,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "tie_word_embeddings": False,
}
ONE = {"num_hidden_layers": 1}
FOUR = {"num_hidden_layers": 4}
FEW = {"num_experts": 8, "num_experts_per_tok": 3}
QWEN = FEW | {"moe_intermediate_size": 16}
QWEN2 = QWEN | {
    "model_type": "qwen2_moe",
    "architectures": ["Qwen2MoeForCausalLM"],
    "shared_expert_intermediate_size": 24,
}
QWEN3 = QWEN | {
    "model_type": "qwen3_moe",
    "architectures": ["Qwen3MoeForCausalLM"],
    "head_dim": 16,
}
GLM = {
    "model_type": "glm4_moe",
    "architectures": ["Glm4MoeForCausalLM"],
    "n_routed_experts": 8,
    "num_experts_per_tok": 3,
    "moe_intermediate_size": 16,
}
GPT_OSS = {
    "model_type": "gpt_oss",
    "architectures": ["GptOssForCausalLM"],
    "head_dim": 16,
    "num_local_experts": 8,
    "num_experts_per_tok": 3,
    "sliding_window": 9,
}
MIXTRAL = {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"]}
GRANITE = {"model_type": "granitemoe", "architectures": ["GraniteMoeForCausalLM"]}
OLMOE = FEW | {"model_type": "olmoe", "architectures": ["OlmoeForCausalLM"]}
PHI = {"model_type": "phimoe", "architectures": ["PhimoeForCausalLM"]}
KINDS = [
    MIXTRAL,
    MIXTRAL | ONE | {"sliding_window": 9, "num_experts": 3, "tie_word_embeddings": True},
    GRANITE | ONE,
    PHI | ONE | {"attention_bias": True, "lm_head_bias": True, "sliding_window": 9},
    QWEN2 | ONE,
    QWEN2 | {"decoder_sparse_step": 2, "mlp_only_layers": [1], "qkv_bias": False, **FOUR},
    QWEN2 | {"use_sliding_window": True, "sliding_window": 9, "max_window_layers": 3, **FOUR},
    QWEN3 | ONE,
    QWEN3 | {"decoder_sparse_step": 2, "attention_bias": True, "num_local_experts": 5},
    QWEN3 | ONE | {"use_sliding_window": True, "sliding_window": 9},
    OLMOE | ONE,
    FEW
    | ONE
    | {
        "model_type": "minimax_m2",
        "architectures": ["MiniMaxM2ForCausalLM"],
        "head_dim": 16,
    },
    GLM,
    GLM | {"head_dim": 16, "use_qk_norm": True, "attention_bias": True, "n_shared_experts": 2},
]


@pytest.mark.parametrize("kind", KINDS, ids=range(len(KINDS)))
def test_decoders_are_what_transformers_builds(kind):
    settings = SIZES | kind
    check_parameters(settings)
    check_flops(settings, lengths=(33,))
    check_cache(settings)


@pytest.mark.parametrize("also", [{}, {"layer_types": ["full_attention"] * 2}], ids=range(2))
def test_gpt_oss_is_what_transformers_builds(also):
    """Its own attention multiplies all pairs and hides which are read; ours says it."""
    settings = SIZES | GPT_OSS | also
    check_parameters(settings)
    check_cache(settings)
    model, theirs = read(settings), built(settings)
    theirs.module.set_attn_implementation(hf.register("attncost", Full()))
    call = Call(theirs.module, (), theirs.inputs(33, 1), unpadded=True)
    found = counted(call, name="gpt-oss")
    assert (model.cost(33).useful, model.cost(33).dense) == (found.useful, found.dense)
    attention = sum(found.by_step[step].useful for step in CORE if step in found.by_step)
    assert model.core(33).useful == attention


def test_every_second_layer_of_gpt_oss_has_a_window():
    assert read(SIZES | GPT_OSS).patterns == {Window(9): 1, Causal(): 1}


@pytest.mark.parametrize(
    ("name", "parameters", "active"),
    [
        ("mixtral-8x7b", 46_702_792_704, 12.9),
        ("qwen3-30b-a3b", 30_532_122_624, 3.3),
        ("gpt-oss-20b", 20_914_757_184, 3.6 + EMBEDDING),
        ("gpt-oss-120b", 116_829_156_672, 5.1 + EMBEDDING),
        ("deepseek-v2", 235_741_434_880, 21),
        ("deepseek-v3", 671_026_404_352, 37),
    ],
)
def test_the_presets_have_their_published_parameters(name, parameters, active):
    """In all as in the published weights; in billions and rounded, those that a token uses."""
    model = preset(name)
    assert model.parameters == parameters
    assert model.active / 1e9 == pytest.approx(active, abs=0.6)


@pytest.mark.parametrize(
    ("name", "total", "active"), [("gpt-oss-20b", 20.91, 3.61), ("gpt-oss-120b", 116.83, 5.13)]
)
def test_gpt_oss_has_the_parameters_of_its_model_card(name, total, active):
    """Table 1 of arXiv:2508.10925, in billions; it leaves the embedding out of the active ones."""
    model = preset(name)
    assert round(model.parameters / 1e9, 2) == total
    assert round((model.active - model.tables) / 1e9, 2) == active


@pytest.mark.parametrize("kind", [MIXTRAL, QWEN2, QWEN3, GPT_OSS], ids=lambda k: k["model_type"])
def test_experts_change_weights_and_no_cache(kind):
    """As asked of a planner that guessed the cache from the parameters: Osmantic/ODS issue 3324."""
    few, many = (read(SIZES | kind | dict.fromkeys(EXPERTS, n)) for n in (4, 64))
    assert many.parameters > 2 * few.parameters
    assert many.kv_bytes_per_token() == few.kv_bytes_per_token() > 0
    assert many.cached(1000) == few.cached(1000)


@pytest.mark.parametrize("kind", [MIXTRAL, QWEN2, GPT_OSS], ids=lambda k: k["model_type"])
def test_a_step_costs_what_a_prompt_costs_more_with_one_token(kind):
    model = read(SIZES | kind)
    for context in (2, 9, 33):
        more = model.cost(context).useful - model.cost(context - 1).useful
        assert model.decode(context).useful == more


def test_a_token_visits_as_many_experts_as_are_active():
    """Counted by hand: 3 of 8 experts, whichever they are."""
    model = read(SIZES | QWEN3)
    one = 3 * 32 * 16
    assert model.parameters - model.active == 2 * (8 - 3) * one


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (MIXTRAL | {"num_experts_per_tok": 9}, "must be at most num_local_experts, got 9 of 8"),
        (QWEN2 | {"num_experts": 0}, "num_experts of this model must be a whole number from 1"),
        (GPT_OSS | {"layer_types": ["chunked_attention"] * 2}, "type 'chunked_attention'"),
        (GPT_OSS | {"sliding_window": None}, "sliding_window .* got None"),
        (GLM | {"moe_layer_freq": 2}, "moe_layer_freq.*is not understood"),
        (GLM | {"first_k_dense_replace": -1}, "first_k_dense_replace .* got -1"),
        (GLM | {"mlp_layer_types": ["odd", "dense"]}, "mlp_layer_types .*'odd'.* in 2 layers"),
        (GRANITE | {"sliding_window": 9}, "has a sliding_window, which is not understood"),
        (OLMOE | {"sliding_window": 9}, "has a sliding_window, which is not understood"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(kind, reason):
    with pytest.raises(ShapeError, match=reason):
        read(SIZES | kind)
