"""Heads of encoders, and heads that are refused."""

import pytest
from tests.cost.families.against import check_flops, check_parameters, read

from attncost.core.errors import ShapeError

SIZES = {
    "model_type": "bert",
    "vocab_size": 100,
    "hidden_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 80,
    "max_position_embeddings": 64,
    "pad_token_id": 1,
}


@pytest.mark.parametrize("kind", ["bert", "roberta"])
@pytest.mark.parametrize("head", ["Model", "ForMaskedLM", "ForSequenceClassification"])
def test_encoders_are_what_transformers_builds(kind, head):
    name = {"bert": "Bert", "roberta": "Roberta"}[kind]
    settings = SIZES | {"model_type": kind, "architectures": [name + head], "num_labels": 5}
    check_parameters(settings)
    check_flops(settings)


@pytest.mark.parametrize(
    ("kind", "head"), [("bert", "BertForTokenClassification"), ("llama", "LlamaForTokenClass")]
)
def test_a_head_that_is_not_known_is_refused(kind, head):
    settings = SIZES | {"model_type": kind, "architectures": [head]}
    with pytest.raises(ShapeError, match=f"has the head of {head}, which is not understood"):
        read(settings)
