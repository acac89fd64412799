"""Faults that people reported of other planners; each one is a property here."""

import tracemalloc

import pytest

from attncost.core.dims import Dims
from attncost.cost.planning.fit import longest
from attncost.cost.planning.needs import needs
from attncost.cost.planning.situation import Situation
from attncost.cost.reading import preset, understood
from attncost.kernels.interface import traffic

GIB = 1 << 30
QWEN = {
    "model_type": "qwen3",
    "architectures": ["Qwen3ForCausalLM"],
    "hidden_size": 1024,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 3072,
    "vocab_size": 151_936,
    "tie_word_embeddings": True,
}


def read(settings):
    return understood(settings, name="this model", source="a test")


def test_the_output_of_a_fused_call_grows_with_the_length_and_not_its_square():
    """LLMRoofline issue 2: every tensor is moved once, so twice the length moves twice as much."""
    once, twice = (traffic(Dims(heads=8, length=n, head_dim=64)) for n in (1024, 2048))
    assert twice == 2 * once


@pytest.mark.parametrize("kv", ["bf16", "fp8"])
def test_the_longest_context_is_exact(kv):
    """LLMcalc issue 3: n fits, n + 1 does not; the precision of the cache changes n."""
    model, how = preset("llama-2-7b"), Situation(work="decode", kv=kv)
    found = longest(model, how, memory=24 * GIB).greatest
    # Weights, what one token holds in its widest layer and its logits leave the rest to the cache.
    parts = {part.part: part.bytes for part in needs(model, how, length=1)}
    rest = 24 * GIB - parts["weights"] - parts["activations"] - parts["logits"]
    assert found == rest // (524_288 if kv == "bf16" else 262_144)


@pytest.mark.parametrize(
    ("name", "bytes_per_token"),
    [("llama-2-7b", 524_288), ("llama-3-8b", 131_072), ("llama-3-70b", 327_680)],
)
def test_a_token_keeps_the_keys_of_key_heads_alone(name, bytes_per_token):
    """vllm-fit issue 2: queries have heads of their own, 8 times as many in Llama 3 70B."""
    assert preset(name).kv_bytes_per_token() == bytes_per_token


def test_heads_need_not_be_as_wide_as_the_model_over_their_number():
    """model-memory-calculator issue 2, with the sizes of Qwen3-0.6B."""
    model = read(QWEN)
    assert model.kv_bytes_per_token() == 2 * 28 * 8 * 128 * 2 == 114_688
    assert model.parameters == 596_049_920


def test_a_cache_does_not_follow_from_the_number_of_parameters():
    """ODS issue 3324: experts are parameters, and keep no keys."""
    mixture = {
        "model_type": "mixtral",
        "architectures": ["MixtralForCausalLM"],
        "hidden_size": 4096,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "intermediate_size": 14_336,
        "vocab_size": 32_000,
        "num_experts_per_tok": 2,
    }
    few, many = (read(mixture | {"num_local_experts": experts}) for experts in (8, 64))
    assert few.kv_bytes_per_token() == many.kv_bytes_per_token() == 131_072
    assert many.parameters > 7 * few.parameters


def test_a_long_context_of_many_layers_is_planned_without_masks():
    """TransformerLens issue 479 kept a mask of n x n for each layer: 80 GiB at these sizes."""
    model = preset("llama-3-70b")
    tracemalloc.start()
    try:
        needs(model, Situation(kernel="naive"), length=32_768)
        longest(model, Situation(), memory=160 * GIB)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20
