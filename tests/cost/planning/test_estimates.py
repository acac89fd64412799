"""Estimates by formula, against runs on fake tensors of the models that transformers builds."""

import pytest
import torch
from tests.cost.families.against import built, read

from attncost.cost.memory.memory import memory
from attncost.cost.planning.needs import needs
from attncost.cost.planning.situation import Situation

LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 768,
    "vocab_size": 1000,
    "tie_word_embeddings": False,
}
BERT = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "hidden_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 1024,
    "vocab_size": 1000,
    "max_position_embeddings": 2048,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
MIXTRAL = LLAMA | {
    "model_type": "mixtral",
    "architectures": ["MixtralForCausalLM"],
    "intermediate_size": 512,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
}
DEEPSEEK = LLAMA | {
    "model_type": "deepseek_v3",
    "architectures": ["DeepseekV3ForCausalLM"],
    "num_key_value_heads": 4,
    "q_lora_rank": 96,
    "kv_lora_rank": 64,
    "qk_rope_head_dim": 32,
    "qk_nope_head_dim": 64,
    "v_head_dim": 96,
    "first_k_dense_replace": 2,
}
LENGTH = 2048


def estimated(settings, work):
    # On meta, products of experts exist in 16 bits alone.
    one = "bfloat16" if settings in (MIXTRAL, DEEPSEEK) else "float32"
    how = Situation(work=work, weights=one, kv=one, activations=one, optimizer="sgd")
    parts = needs(read(settings), how, length=LENGTH)
    # No copy of the weights in float32 is there.
    return sum(part.bytes for part in parts if part.part not in ("weights", "optimizer"))


def found(settings, work):
    model = built(settings)
    inputs = model.inputs(LENGTH, 1)
    if work == "training" and settings is not BERT:
        inputs["labels"] = inputs["input_ids"]
    training = work == "training"
    module = model.module.train(training)
    with torch.set_grad_enabled(training):
        by_part = memory(module, training=training, **inputs).by_part
    return by_part["gradients"] + by_part["activations"] + by_part["temporaries"]


@pytest.mark.parametrize("work", ["prefill", "training"])
@pytest.mark.parametrize(
    "settings", [LLAMA, BERT, MIXTRAL, DEEPSEEK], ids=lambda one: one["model_type"]
)
def test_an_estimate_is_within_an_eighth_of_what_transformers_holds(settings, work):
    assert estimated(settings, work) == pytest.approx(found(settings, work), rel=0.125)
