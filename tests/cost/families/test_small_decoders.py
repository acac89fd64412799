"""Decoders of OLMo, Phi and GPT-NeoX."""

import pytest
from tests.cost.families.against import check_cache, check_flops, check_parameters, read

from attncost import Causal, Window
from attncost.core.errors import ShapeError

SIZES = {
    "vocab_size": 100,
    "hidden_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 80,
    "pad_token_id": 0,
}
SHARED = {"num_key_value_heads": 2}
OLMO = {"model_type": "olmo", "architectures": ["OlmoForCausalLM"]}
OLMO2 = SHARED | {"model_type": "olmo2", "architectures": ["Olmo2ForCausalLM"]}
OLMO3 = {"model_type": "olmo3", "architectures": ["Olmo3ForCausalLM"], "sliding_window": 9}
PHI = {"model_type": "phi", "architectures": ["PhiForCausalLM"]}
PHI3 = {"model_type": "phi3", "architectures": ["Phi3ForCausalLM"]}
NEOX = {"model_type": "gpt_neox", "architectures": ["GPTNeoXForCausalLM"]}


@pytest.mark.parametrize(
    "kind",
    [
        OLMO | {"attention_bias": True},
        OLMO2 | {"tie_word_embeddings": True},
        OLMO3 | {"num_hidden_layers": 4},
        PHI | SHARED | {"qk_layernorm": True},
        PHI3 | SHARED,
        PHI3 | {"sliding_window": 9, "architectures": ["Phi3Model"]},
        NEOX,
        NEOX | {"attention_bias": False, "use_parallel_residual": False},
    ],
    ids=range(8),
)
def test_decoders_are_what_transformers_builds(kind):
    settings = SIZES | kind
    check_parameters(settings)
    check_flops(settings, (1, 13))
    check_cache(settings)


def test_every_fourth_layer_of_the_third_olmo_reads_all():
    assert read(SIZES | OLMO3 | {"num_hidden_layers": 9}).patterns == {Window(9): 7, Causal(): 2}


@pytest.mark.parametrize(
    ("settings", "parameters"),
    [
        (
            OLMO2
            | {
                "vocab_size": 100_352,
                "hidden_size": 4096,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "num_key_value_heads": 32,
                "intermediate_size": 11_008,
            },
            7_298_617_344,
        ),
        (
            PHI
            | {
                "vocab_size": 51_200,
                "hidden_size": 2560,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "intermediate_size": 10_240,
            },
            2_779_683_840,
        ),
        (
            PHI3
            | {
                "vocab_size": 32_064,
                "hidden_size": 3072,
                "num_hidden_layers": 32,
                "num_attention_heads": 32,
                "intermediate_size": 8192,
            },
            3_821_079_552,
        ),
        (
            NEOX
            | {
                "vocab_size": 50_304,
                "hidden_size": 768,
                "num_hidden_layers": 12,
                "num_attention_heads": 12,
                "intermediate_size": 3072,
            },
            162_322_944,
        ),
    ],
    ids=["OLMo-2-1124-7B", "phi-2", "Phi-3-mini", "pythia-160m"],
)
def test_published_sizes_have_their_published_parameters(settings, parameters):
    """As in the published weights; of Pythia both tables come on top of arXiv:2304.01373, Table 1.

    That counts 85,056,000.
    """
    assert read(settings).parameters == parameters


@pytest.mark.parametrize(
    "architecture",
    [
        OLMO | {"architectures": ["Olmo2ForSequenceClassification"]},
        PHI | {"architectures": ["PhiForTokenClassification"]},
        NEOX | {"architectures": ["GPTNeoXForQuestionAnswering"]},
    ],
    ids=["olmo", "phi", "neox"],
)
def test_classes_are_refused_by_name(architecture):
    with pytest.raises(ShapeError, match="ends in classes"):
        read(SIZES | architecture)
