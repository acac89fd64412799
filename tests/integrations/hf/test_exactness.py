"""With `Full()` a model computes what it always did: values, gradients, tokens."""

import pytest
import torch
from tests.integrations.hf import zoo

from attncost import hf

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
MODELS = [(name, padding) for name in zoo.ZOO for padding in zoo.PADDINGS]
MODELS = [(name, padding) for name, padding in MODELS if name != "vit" or padding is None]


@pytest.fixture(autouse=True)
def registered():
    return hf.register("exact")


def both(model, run):
    """Run a model as it was made for, then with our attention."""
    found = []
    for implementation in ("eager", "exact"):
        model.set_attn_implementation(implementation)
        found.append(run(model))
    return found


def loss_gradients(name, batch, model):
    """Return the outputs of the tokens that count, and the gradients of all weights."""
    model.zero_grad()
    outputs = zoo.outputs(model, batch)[zoo.valid(name, batch)]
    outputs.square().mean().backward()
    gradients = {key: p.grad for key, p in model.named_parameters() if p.grad is not None}
    return outputs.detach(), gradients


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize(("name", "padding"), MODELS)
def test_values_and_gradients_equal_those_of_the_model(name, padding, dtype):
    model, batch = zoo.ZOO[name](dtype), zoo.inputs(name, padding)
    with zoo.softmax_in_float64():
        expected, found = both(model, lambda model: loss_gradients(name, batch, model))
    tolerance = TOLERANCE[dtype]
    torch.testing.assert_close(found[0], expected[0], rtol=0, atol=tolerance)
    assert found[1].keys() == expected[1].keys()
    for key, gradient in expected[1].items():
        most = max(1.0, float(gradient.abs().max()))
        torch.testing.assert_close(found[1][key], gradient, rtol=0, atol=tolerance * most, msg=key)


@pytest.mark.parametrize("name", zoo.ZOO)
def test_checkpointing_changes_no_gradient(name):
    model, batch = zoo.ZOO[name](), zoo.inputs(name, None if name == "vit" else "left")
    model.set_attn_implementation("exact")
    expected = loss_gradients(name, batch, model.train())
    model.activation_checkpointing_enable()
    torch.testing.assert_close(loss_gradients(name, batch, model), expected)
