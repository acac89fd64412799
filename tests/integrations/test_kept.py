"""What a model keeps of each token and what it is set to, read off the model itself."""

import json

import pytest

from attncost.integrations.weightless import weightless

TINY = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 50,
    "max_position_embeddings": 64,
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
}


@pytest.fixture
def folder(tmp_path):
    def write(settings):
        (tmp_path / "config.json").write_text(json.dumps(settings))
        return str(tmp_path)

    return write


MOE = {
    "num_local_experts": 4,
    "num_experts": 4,
    "num_experts_per_tok": 2,
    "n_routed_experts": 4,
    "moe_intermediate_size": 64,
}
LATENT = {"kv_lora_rank": 24, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16}


@pytest.mark.parametrize("name", ["llama-3-8b", "mistral-7b"])
def test_what_a_cache_takes_of_a_token_is_what_was_published(name):
    assert weightless(name).kv_bytes_per_token() == 131_072
    assert weightless(name).kv_bytes_per_token(itemsize=1) == 65_536


def test_a_window_keeps_as_much_of_a_token_until_it_is_full(folder):
    # The sizes of gpt-oss-120b, as OpenAI published them, 2025, with fewer experts.
    sizes = {"num_hidden_layers": 36, "num_key_value_heads": 8, "head_dim": 64}
    path = folder(TINY | MOE | sizes | {"model_type": "gpt_oss", "num_attention_heads": 64})
    assert weightless(path).kv_bytes_per_token() == 73_728


@pytest.mark.parametrize(
    ("settings", "numbers"),
    [
        # Layers, keys and values, heads, features: 2 * 2 * 4 * 8, or with one head of them.
        ({"model_type": "gemma2", "head_dim": 8, "sliding_window": 4}, 128),
        ({"model_type": "mixtral"} | MOE, 128),
        ({"model_type": "phi3", "pad_token_id": 0}, 128),
        ({"model_type": "opt", "ffn_dim": 64, "word_embed_proj_dim": 32}, 128),
        ({"model_type": "falcon", "multi_query": True}, 32),
        # Of both DeepSeeks the latent and the rotated key, shared by all heads: 2 * (24 + 8).
        ({"model_type": "deepseek_v2", "n_group": 1, "topk_group": 1} | MOE | LATENT, 64),
        ({"model_type": "deepseek_v3", "n_group": 1, "topk_group": 1} | MOE | LATENT, 64),
        ({"model_type": "mamba"}, None),
        ({"model_type": "bert"}, None),
        ({"model_type": "bart"}, None),
    ],
)
def test_what_a_cache_takes_of_a_token_is_read_off_the_cache(settings, numbers, folder):
    found = weightless(folder(TINY | settings)).kv_bytes_per_token(itemsize=1)
    assert found == numbers


def test_what_is_no_model_of_hugging_face_has_neither_cache_nor_settings():
    layer = weightless("layer:d_model=16,heads=2")
    assert layer.kv_bytes_per_token() is None
    assert layer.settings == {}


def test_settings_that_cost_nothing_are_left_out(folder):
    given = TINY | {"eos_token_id": 3, "rms_norm_eps": 0.1, "rope_theta": 5.0, "mlp_bias": True}
    given |= {"model_type": "llama"}
    found = weightless(folder(given | {"novel": {"deep": None, "more": [1, None]}})).settings
    assert found["mlp_bias"] is True
    assert (found["novel.deep"], found["novel.more"]) == ("null", [1, "null"])
    assert found["num_hidden_layers"] == 2
    assert not {"eos_token_id", "rms_norm_eps", "rope_theta", "dtype"} & found.keys()
