"""Weights that are asked for are those of the model, or refused."""

import pytest
import torch
from tests.integrations.hf import zoo

from attncost import Causal, Fixed, Full, UnsupportedOption, hf

RETURNED = [name for name in zoo.ZOO if name != "gpt_oss"]


@pytest.mark.parametrize("name", RETURNED)
def test_weights_that_are_asked_for_are_those_of_the_model(name):
    model = zoo.ZOO[name](torch.float64)
    padding = None if name == "vit" else "right"
    batch, found = zoo.inputs(name, padding, length=12), []
    if name == "vit":
        batch["pixel_values"] = batch["pixel_values"].double()
    for implementation in ("eager", hf.register("exact")):
        model.set_attn_implementation(implementation)
        with torch.no_grad(), zoo.softmax_in_float64():
            outputs = model(**batch, output_attentions=True)
        found.append({key: outputs[key] for key in outputs if key.endswith("attentions")})
    assert found[0].keys() == found[1].keys()
    assert sum(len(layers) for layers in found[0].values()) >= 3
    for key, layers in found[0].items():
        for own, ours in zip(layers, found[1][key], strict=True):
            some = ours.sum(-1, keepdim=True) > 0  # ours is 0 in a row that reads nothing
            torch.testing.assert_close(ours, own * some)


def test_weights_asked_for_in_the_configuration_are_returned_too():
    model, batch = zoo.ZOO["llama"](), zoo.inputs("llama")
    model.set_attn_implementation("eager")
    model.config.output_attentions = True
    expected = model(**batch).attentions
    with hf.swap(model, Full()):
        torch.testing.assert_close(model(**batch).attentions, expected)


def test_weights_over_texts_that_begin_late_are_refused():
    model, batch = zoo.ZOO["llama"](), zoo.inputs("llama", "left")
    with hf.swap(model, Fixed(4, summary=1)):
        with pytest.raises(UnsupportedOption, match="one unpadded text at a time"):
            model(**batch, output_attentions=True)
        weights = model(**zoo.inputs("llama"), output_attentions=True).attentions[0]
    assert not weights[..., ~(Fixed(4, summary=1) & Causal()).mask(24, 24)].any()
