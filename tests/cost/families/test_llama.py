"""Decoders of the Llama, Mistral and Qwen families."""

import pytest
from tests.cost.families.against import check_cache, check_flops, check_parameters, read

from attncost import Causal, Window

SIZES = {
    "vocab_size": 100,
    "hidden_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 20,
    "intermediate_size": 80,
    "tie_word_embeddings": False,
}
KINDS = [
    {"model_type": "llama", "architectures": ["LlamaForCausalLM"]},
    {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "attention_bias": True},
    {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "mlp_bias": True},
    {"model_type": "llama", "architectures": ["LlamaModel"]},
    {"model_type": "mistral", "architectures": ["MistralForCausalLM"], "sliding_window": 9},
    {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "tie_word_embeddings": True},
    {
        "model_type": "qwen2",
        "architectures": ["Qwen2ForCausalLM"],
        "use_sliding_window": True,
        "sliding_window": 9,
        "max_window_layers": 1,
    },
    {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"], "attention_bias": True},
]


@pytest.mark.parametrize("kind", KINDS, ids=range(len(KINDS)))
def test_decoders_are_what_transformers_builds(kind):
    settings = SIZES | kind
    check_parameters(settings)
    check_flops(settings)
    check_cache(settings)


def test_windows_of_qwen_begin_at_a_layer():
    model = read(SIZES | KINDS[6])
    assert model.patterns == {Causal(): 1, Window(9): 2}
    assert model.attention is None
    keys = 2 * 2 * 20
    assert model.cached(100) == keys * (100 + 2 * 9)
