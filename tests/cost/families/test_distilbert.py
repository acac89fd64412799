"""Encoders of DistilBERT."""

import pytest
import torch
import transformers
from tests.cost.families.against import read

from attncost.core.errors import ShapeError
from attncost.cost.counting.count import count

SIZES = {
    "model_type": "distilbert",
    "vocab_size": 100,
    "dim": 48,
    "n_layers": 2,
    "n_heads": 4,
    "hidden_dim": 80,
}
MASKED, CLASSES = "DistilBertForMaskedLM", "DistilBertForSequenceClassification"


@pytest.mark.parametrize(
    "settings",
    [
        {"architectures": ["DistilBertModel"], "max_position_embeddings": 64},
        {"architectures": [MASKED]},
        {"architectures": [MASKED], "tie_word_embeddings": False},
        {"architectures": [CLASSES], "id2label": {0: "a", 1: "b", 2: "c"}},
    ],
    ids=range(4),
)
def test_encoders_are_what_transformers_builds(settings):
    settings = SIZES | settings
    config = transformers.DistilBertConfig.from_dict(dict(settings))
    with torch.device("meta"):
        module = getattr(transformers, settings["architectures"][0])(config).eval()
        tokens = torch.zeros(1, 13, dtype=torch.long)
    model, found = read(settings), count(module, tokens)
    assert model.parameters == sum(parameter.numel() for parameter in module.parameters())
    assert not found.at_least
    assert (model.cost(13).useful, model.cost(13).dense) == (found.useful, found.dense)
    assert model.longest == config.max_position_embeddings
    assert not model.caches


def test_the_published_sizes_have_their_published_parameters():
    """As in the published weights of distilbert-base-uncased, and of its child for sentiments."""
    base = {"model_type": "distilbert", "dim": 768, "n_layers": 6, "n_heads": 12}
    base |= {"hidden_dim": 3072}
    assert read(base | {"architectures": ["DistilBertModel"]}).parameters == 66_362_880
    assert read(base | {"architectures": [MASKED]}).parameters == 66_985_530
    assert read(base | {"architectures": [CLASSES]}).parameters == 66_955_010


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"architectures": ["DistilBertForQuestionAnswering"]}, "ends in classes of tokens"),
        ({"n_heads": 5}, "n_heads .* must divide dim, got 5 for 48"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(settings, reason):
    with pytest.raises(ShapeError, match=reason):
        read(SIZES | settings)
