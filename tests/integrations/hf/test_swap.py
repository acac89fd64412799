"""Layers read something else until it is taken back, and the model shows it."""

import pytest
import torch
from tests.integrations.hf import zoo
from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

from attncost import (
    Full,
    Linformer,
    ShapeError,
    UnknownName,
    UnsupportedOption,
    Window,
    hf,
)

LLAMA = zoo.inputs("llama", "left")


@pytest.fixture
def model():
    return zoo.ZOO["llama"]()


def outputs(model, batch=LLAMA):
    return zoo.evaluated(model, batch)


def state(model):
    """Return all that a swap may not leave changed."""
    configurations = {
        id(module.config): module.config._attn_implementation
        for module in model.modules()
        if hasattr(module, "config")
    }
    return repr(model), configurations, list(model.state_dict()), outputs(model).tolist()


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_a_swap_is_taken_back(model, implementation):
    model.set_attn_implementation(implementation)
    before = state(model)
    swapped = hf.swap(model, Window(3))
    assert state(model)[-1] != before[-1]
    swapped.restore()
    assert state(model) == before
    swapped.restore()
    with hf.swap(model, Window(3)) as swapped:
        swapped.restore()
        assert state(model) == before
    assert state(model) == before


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_swap_is_taken_back_after_an_error(model, error):
    before = state(model)
    with pytest.raises(error), hf.swap(model, Window(3)):
        raise error
    assert state(model) == before


def test_a_failed_swap_changes_nothing(model):
    before = state(model)
    with pytest.raises(ShapeError, match="say which with length="):
        hf.swap(model, Linformer(rank=4))
    assert state(model) == before


def test_swaps_are_nested(model):
    before = state(model)
    with hf.swap(model, Window(3)):
        outer = outputs(model)
        with hf.swap(model, Window(5), layers=[0]):
            assert "Window(width=5, ahead=0)" in repr(model.model.layers[0])
            assert "Window(width=3, ahead=0)" in repr(model.model.layers[1])
            assert not torch.equal(outputs(model), outer)
        assert torch.equal(outputs(model), outer)
    assert state(model) == before


@pytest.mark.parametrize("layers", [None, [0], [1]], ids=str)
def test_the_later_swap_is_taken_back_first(model, layers):
    before = state(model)
    outer = hf.swap(model, Window(3), layers=[0])
    inner = hf.swap(model, Window(5), layers=layers)
    inside = state(model)
    with pytest.raises(ShapeError, match="swapped again later: restore that swap"):
        outer.restore()
    assert state(model) == inside
    inner.restore()
    outer.restore()
    assert state(model) == before


def test_what_was_registered_for_all_layers_stays_in_the_others(model):
    name = hf.register("window3", Window(3))
    model.set_attn_implementation(name)
    every = outputs(model)
    with hf.swap(model, Full(), layers=[0, 1, 2]):
        assert not torch.equal(outputs(model), every)
    with hf.swap(model, Window(3), layers=[1]):
        assert torch.equal(outputs(model), every)
    assert model.config._attn_implementation == name


def second(name, module):
    return module.layer_idx == 1


CHOICES = {
    "numbers": ([0, 2], [0, 2]),
    "from the end": ([-1], [2]),
    "twice": ([1, -2, 1], [1]),
    "range": (range(2), [0, 1]),
    "generator": ((number for number in (1,)), [1]),
    "glob": ("*layers.[12]*", [1, 2]),
    "name": ("model.layers.1.self_attn", [1]),
    "function": (second, [1]),
    "all": (None, [0, 1, 2]),
}


@pytest.mark.parametrize("how", CHOICES)
def test_layers_are_chosen(model, how):
    layers, chosen = CHOICES[how]
    swapped = hf.swap(model, Window(3), layers=layers)
    assert swapped.names == tuple(f"model.layers.{number}.self_attn" for number in chosen)
    for number, layer in enumerate(model.model.layers):
        assert ("Attends(Window(width=3, ahead=0))" in repr(layer)) == (number in chosen)


@pytest.mark.parametrize(
    ("layers", "error", "message"),
    [
        ([3], ShapeError, "numbers from -3 to 2, as there are 3, got 3"),
        ([0, -4], ShapeError, "got -4"),
        ([], ShapeError, "at least one of 3 layers, got none"),
        (lambda name, module: False, ShapeError, "chose none of the 3 attention layers"),
        (
            "layers.1",
            UnknownName,
            r"no attention layer is called 'layers.1'.* Known: model\.layers",
        ),
        ("encoder.*", UnknownName, "no attention layer is called"),
    ],
    ids=["beyond", "before", "empty", "none", "part of a name", "other stack"],
)
def test_a_mistaken_choice_is_refused_and_changes_nothing(model, layers, error, message):
    before = state(model)
    with pytest.raises(error, match=message):
        hf.swap(model, Window(3), layers=layers)
    assert state(model) == before


def test_a_module_that_is_no_model_of_transformers_is_refused():
    with pytest.raises(UnsupportedOption, match="Linear has no layer that asks transformers"):
        hf.swap(torch.nn.Linear(2, 2), Window(3))


def test_one_layer_of_a_model_is_not_enough(model):
    before = state(model)
    with pytest.raises(UnsupportedOption, match="swap needs a model of transformers, got LlamaDec"):
        hf.swap(model.model.layers[0], Window(3))
    assert state(model) == before


def test_cross_attention_is_left_out_unless_it_is_chosen():
    model, batch = zoo.ZOO["t5"](), zoo.inputs("t5", "right")
    model.set_attn_implementation("eager")
    expected = outputs(model, batch)
    with hf.swap(model, Window(1000, ahead=500)) as swapped:
        assert len(swapped.names) == 6
        assert all(name.endswith(".SelfAttention") for name in swapped.names)
        torch.testing.assert_close(outputs(model, batch), expected)
    with hf.swap(model, Window(3), layers=[0]) as swapped:  # of the encoder and of the decoder
        assert swapped.names == (
            "encoder.block.0.layer.0.SelfAttention",
            "decoder.block.0.layer.0.SelfAttention",
        )
    with hf.swap(model, Window(3), layers="*EncDecAttention") as swapped:
        assert len(swapped.names) == 3
        as_long = batch | {"decoder_input_ids": batch["input_ids"]}  # which hides that it crosses
        for one in (batch, as_long):
            with pytest.raises(UnsupportedOption, match="positions, which cross-attention has not"):
                outputs(model, one)
    torch.testing.assert_close(outputs(model, batch), expected)


def test_every_part_of_a_composite_model_is_taken_back():
    torch.manual_seed(0)
    sizes = dict.fromkeys(("hidden_size", "intermediate_size"), 32)
    sizes |= dict.fromkeys(("num_hidden_layers", "num_attention_heads"), 2)
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(**sizes, image_size=16, patch_size=8, projection_dim=32),
        text_config=LlamaConfig(**sizes, vocab_size=zoo.VOCABULARY),
        image_token_index=96,
        vision_feature_layer=-1,
    )
    model = LlavaForConditionalGeneration(config).eval()
    model.set_attn_implementation({"vision_config": "eager", "text_config": "sdpa"})
    found = (model.config, model.config.vision_config, model.config.text_config)
    before = [one._attn_implementation for one in found]
    assert before[1:] == ["eager", "sdpa"]
    pictures = torch.randn(1, 3, 16, 16)
    batch = {"input_ids": torch.tensor([[1, 96, 96, 96, 96, 5, 6, 7]]), "pixel_values": pictures}
    expected = model(**batch).logits
    with hf.swap(model, Window(17, ahead=8)) as swapped:
        assert len(swapped.names) == 4
        torch.testing.assert_close(model(**batch).logits, expected)
    with hf.swap(model, Window(2), layers="*language_model*"):
        assert not torch.allclose(model(**batch).logits, expected)
    assert [one._attn_implementation for one in found] == before
    assert torch.equal(model(**batch).logits, expected)


def test_what_hangs_in_a_layer_computes_nothing_itself(model):
    hf.swap(model, Window(3))
    with pytest.raises(ShapeError, match="computes nothing itself"):
        model.model.layers[0].self_attn.attncost()


def test_a_layer_that_was_swapped_runs_by_no_other_function(model):
    expected = outputs(model)
    with hf.swap(model, Window(3), layers=[1]):
        model.set_attn_implementation("sdpa")
        with pytest.raises(UnsupportedOption, match="set to 'sdpa' after that: restore the swap"):
            outputs(model)
        model.set_attn_implementation("attncost")
        other = outputs(model)
    assert not torch.equal(expected, other)
    assert torch.equal(outputs(model), expected)
