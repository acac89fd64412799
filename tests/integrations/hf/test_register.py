"""A name stands for an attention function and its mask function, or is refused."""

import sys

import pytest
import torch
from tests.integrations.hf import zoo
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from attncost import AttnCostError, Full, Linformer, ShapeError, Window, hf


@pytest.mark.parametrize("name", ["", "a/b", "flash_window", "paged|window", "a:b", "a@b"])
def test_a_name_that_transformers_reads_as_something_else_is_refused(name):
    with pytest.raises(ShapeError, match="name must be a plain word"):
        hf.register(name)
    assert name not in ALL_ATTENTION_FUNCTIONS
    assert name not in ALL_MASK_ATTENTION_FUNCTIONS


@pytest.mark.parametrize("name", ["eager", "sdpa", "flex_attention"])
def test_a_name_of_transformers_is_refused(name):
    found = ALL_ATTENTION_FUNCTIONS.get(name)
    with pytest.raises(ShapeError, match=f"the name '{name}' is one of transformers"):
        hf.register(name, Window(4))
    assert ALL_ATTENTION_FUNCTIONS.get(name) is found


def test_a_name_stands_for_both_functions():
    assert hf.register("window4", Window(4)) == "window4"
    assert "window4" in ALL_ATTENTION_FUNCTIONS
    assert "window4" in ALL_MASK_ATTENTION_FUNCTIONS


def test_a_name_stands_for_one_thing():
    assert hf.register("window4", Window(4)) == hf.register("window4", Window(4))
    with pytest.raises(ShapeError, match=r"'window4' is Window\(width=4, ahead=0\): take another"):
        hf.register("window4", Window(5))
    with pytest.raises(ShapeError, match="'window4' is Window"):
        hf.register("window4")


def test_the_name_that_swap_takes_is_kept_for_it():
    with pytest.raises(
        ShapeError, match=r"'attncost' is kept for Full\(\): take another one for W"
    ):
        hf.register("attncost", Window(4))
    assert hf.register("attncost", Full()) == "attncost"


def test_transformers_has_to_be_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    for use in (lambda: hf.register("window4", Window(4)), lambda: hf.swap(MODEL, Window(4))):
        with pytest.raises(AttnCostError, match=r"need transformers: pip install 'attncost\[hf\]'"):
            use()


@pytest.mark.parametrize("version", ["4.57.3", "5.3.0", "5.23.1", "5.24.0", "5.100.0.dev0", "6.0"])
def test_transformers_has_to_be_new_enough(version, monkeypatch):
    monkeypatch.setattr("transformers.__version__", version)
    if version in ("5.24.0", "5.100.0.dev0", "6.0"):
        assert hf.register("window4", Window(4)) == "window4"
        return
    with pytest.raises(AttnCostError, match=f"5.24 or later, found {version}: pip install"):
        hf.register("window4", Window(4))


MODEL = zoo.ZOO["llama"]()


def test_a_model_is_made_loaded_and_saved_with_the_name(tmp_path):
    name, batch = hf.register("window4", Window(4)), zoo.inputs("llama", "left")
    made = zoo.ZOO["llama"](attn_implementation=name)
    with hf.swap(MODEL, Window(4)):
        expected = zoo.outputs(MODEL, batch)
    assert torch.equal(zoo.outputs(made, batch), expected)
    made.save_pretrained(tmp_path)
    assert name not in (tmp_path / "config.json").read_text()
    own = type(made).from_pretrained(tmp_path).eval()
    assert not torch.allclose(zoo.outputs(own, batch), expected)
    loaded = type(made).from_pretrained(tmp_path, attn_implementation=name).eval()
    assert torch.equal(zoo.outputs(loaded, batch), expected)


def test_a_mechanism_without_learned_tensors_says_what_to_do():
    name = hf.register("linformer5", Linformer(rank=5))
    made = zoo.ZOO["vit"](attn_implementation=name)
    with pytest.raises(ShapeError, match=r"add them with ac\.hf\.swap\(model, mechanism, length="):
        zoo.outputs(made, zoo.inputs("vit"))
