"""A name becomes a call that can be run, with weights, or is refused."""

import json

import pytest
import torch

from attncost import ShapeError, UnknownName
from attncost.measure.attribution.real import real

FACTORY = """
import torch
from torch import nn

def sized(length=3, batch=1):
    return nn.Linear(4, 4), torch.zeros(batch, length, 4)

def fixed():
    return nn.Linear(4, 4), {"input": torch.zeros(5, 4)}
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    (tmp_path / "profiled_factory.py").write_text(FACTORY)
    monkeypatch.chdir(tmp_path)
    return "profiled_factory"


def test_a_layer_has_weights_and_inputs_of_the_sizes_that_are_asked_for():
    found = real("layer:heads=2,d_model=8", length=5, batch=3)
    assert (found.name, found.length, found.batch) == ("layer:d_model=8,heads=2", 5, 3)
    assert found.inputs[0].shape == (3, 5, 8)
    assert found.module(*found.inputs).isfinite().all()
    again = real("layer:d_model=8,heads=2", length=5, batch=3)
    assert torch.equal(found.inputs[0], again.inputs[0])


def test_a_function_runs_on_the_cpu_and_gets_the_sizes_that_it_takes(mine):
    found = real(f"{mine}:sized", length=7, batch=2)
    assert found.inputs[0].shape == (2, 7, 4)
    assert found.module.weight.device.type == "cpu"
    assert found.module(*found.inputs).isfinite().all()
    own = real(f"{mine}:fixed")
    assert (own.length, own.batch) == (None, None)
    assert own.module(**own.options).shape == (5, 4)
    with pytest.raises(ShapeError, match="inputs of its own sizes: leave length and batch out"):
        real(f"{mine}:fixed", length=3)


def test_the_demo_has_its_real_weights():
    found = real("demo")
    assert found.length == 512
    tokens = found.options["input_ids"]
    assert tokens.shape == (1, 512)
    assert tokens.unique().numel() > 100, "not one token again and again"
    with pytest.raises(ShapeError, match="positions for 512 tokens, got a length of 513"):
        real("demo", length=513)


def test_what_has_no_weights_is_refused(tmp_path):
    sizes = {"model_type": "bert", "hidden_size": 8, "num_attention_heads": 2}
    sizes |= {"num_hidden_layers": 1, "intermediate_size": 16, "vocab_size": 10}
    (tmp_path / "config.json").write_text(
        json.dumps(sizes | {"max_position_embeddings": 16, "type_vocab_size": 2})
    )
    for name in ("llama-3-8b", str(tmp_path), str(tmp_path / "config.json")):
        with pytest.raises(ShapeError, match="can be priced but not profiled"):
            real(name)
    with pytest.raises(UnknownName, match="no model, folder or preset is called 'lama'"):
        real("lama")
    with pytest.raises(ShapeError, match="batch must be at least 1, got 0"):
        real("demo", batch=0)
