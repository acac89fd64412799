"""Encoders of images."""

import pytest
import torch
import transformers
from tests.cost.families.against import read

from attncost.core.errors import ShapeError
from attncost.cost.counting.count import count

SIZES = {
    "model_type": "vit",
    "architectures": ["ViTModel"],
    "hidden_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 80,
    "image_size": 30,
    "patch_size": 6,
}
CLASSES = {"architectures": ["ViTForImageClassification"], "id2label": {0: "a", 1: "b", 2: "c"}}


@pytest.mark.parametrize(
    "settings",
    [
        SIZES,
        SIZES | {"pooler_output_size": 20, "qkv_bias": False},
        SIZES | {"image_size": [18, 20], "patch_size": [6, 4], "num_channels": 1},
        SIZES | CLASSES,
    ],
    ids=range(4),
)
def test_encoders_are_what_transformers_builds(settings):
    config = transformers.ViTConfig.from_dict(dict(settings))
    height, width = settings["image_size"] if isinstance(settings["image_size"], list) else (30, 30)
    with torch.device("meta"):
        module = getattr(transformers, settings["architectures"][0])(config).eval()
        image = torch.empty(1, config.num_channels, height, width)
    found = count(module, image)
    model = read(settings)
    assert model.parameters == sum(parameter.numel() for parameter in module.parameters())
    assert not found.at_least
    assert not found.at_most
    cost, attended = model.cost(model.longest), model.core(model.longest)
    assert (cost.useful, cost.dense) == (found.useful, found.dense)
    assert attended.useful == found.by_step["attention"].useful
    assert not model.caches


def test_the_published_sizes_have_their_published_parameters():
    """As in arXiv:2010.11929, Table 1, and the published weights of ViT-B/16 with 1,000 classes."""
    base = {
        "model_type": "vit",
        "architectures": ["ViTForImageClassification"],
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "num_labels": 1000,
    }
    assert (read(base).parameters, read(base).longest) == (86_567_656, 197)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"architectures": ["ViTForMaskedImageModeling"]}, "paints images"),
        ({"image_size": 5}, "must be at least its patch_size, got 5 x 5"),
        ({"image_size": [30, 30, 30]}, "must be one side or two"),
        ({"image_size": [30, "30"]}, "image_size .* got '30'"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(settings, reason):
    with pytest.raises(ShapeError, match=reason):
        read(SIZES | settings)
