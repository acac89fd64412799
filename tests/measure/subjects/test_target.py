import json

import pytest
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

from attncost.core.errors import ShapeError, UnknownName, UnsupportedOption
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.target import target


def test_the_demo_can_be_measured_in_both_ways_and_its_flops_are_those_counted():
    demo = target("demo")
    assert demo.lengths == (8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
    assert demo.note.startswith(
        "Lengths end at 512 tokens and by FLOPs attention takes over at 2,304, "
    )
    fused, eager = demo.subjects()
    assert (fused.name, eager.name) == ("sdpa", "eager")
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        eager.prepare(Case(length=24))()
    predicted = eager.predict(Case(length=24))
    assert counter.get_total_flops() == predicted.linear + predicted.core


def test_a_decoder_of_ones_own_is_run_up_to_its_logits(tmp_path):
    config = transformers.LlamaConfig(
        vocab_size=50,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=128,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    mine = target(str(tmp_path))
    (subject,) = mine.subjects(["sdpa"])
    with torch.inference_mode():
        assert subject.prepare(Case(length=5))().logits.shape == (1, 5, 50)
    assert mine.keeps_weights("sdpa") is None, "no closed form is known for gated blocks"
    assert target(str(tmp_path / "config.json")).configuration == mine.configuration


def test_a_layer_takes_its_sizes_from_its_name():
    layer = target("layer:d_model=32,heads=4")
    assert target("layer:d_model=512").lengths[::12] == (64, 4096)
    assert layer.lengths[-1] == 512
    assert (layer.configuration.block.d_model, layer.configuration.block.heads) == (32, 4)
    assert {one.labels["qkv"] for one in layer.subjects()} == {"separate", "fused"}
    assert target("layer:heads=4,d_model=32").name == layer.name
    (only,) = layer.subjects(["window:width=4"], ["fused"])
    assert only.name == "window:width=4, fused qkv"
    folded, reference = layer.subjects(["causal"], ["fused"], ["folded", "reference"])
    assert folded.name == "causal, fused qkv, folded kernel"
    assert reference.labels["kernel"] == "reference"
    assert layer.keeps_weights("naive") is True
    assert layer.keeps_weights("full") is False
    assert layer.keeps_weights("window") is None


def test_a_preset_and_a_folder_without_weights_can_be_priced_but_not_measured(tmp_path):
    settings = {"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1, "vocab_size": 9}
    settings |= {"num_attention_heads": 2, "intermediate_size": 8, "max_position_embeddings": 16}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    (tmp_path / "other.json").write_text(json.dumps(settings | {"num_hidden_layers": 3}))
    (tmp_path / "model.safetensors").touch()
    assert target(str(tmp_path / "other.json")).configuration.layers == 3
    (tmp_path / "model.safetensors").rename(tmp_path / "elsewhere")
    for name in ("llama-3-8b", str(tmp_path), str(tmp_path / "other.json")):
        priced = target(name)
        assert priced.configuration.cost(4).useful > 0
        with pytest.raises(ShapeError, match="can be priced but not measured"):
            priced.subjects()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("dmo", "no model, folder or preset is called 'dmo'; did you mean 'demo'"),
        ("layer:d_model=x", "d_model of layer must be a whole number"),
        ("layer:d_model=0", "d_model of layer must lie between 1 and 65,536, got 0"),
        ("layer:width=3", "no size of a layer is called 'width'"),
        ("layer:d_model=30,heads=7", "heads must divide d_model"),
    ],
)
def test_a_name_of_nothing_is_answered_with_what_there_is(text, reason):
    with pytest.raises((ShapeError, UnknownName), match=reason):
        target(text)


def test_what_a_model_cannot_do_is_refused():
    demo = target("demo")
    with pytest.raises(ShapeError, match="positions for 512 tokens, got a length of 513"):
        demo.subjects(["sdpa"])[0].predict(Case(length=513))
    with pytest.raises(UnknownName, match="implementation of demo"):
        demo.subjects(["flash"])
    with pytest.raises(ShapeError, match="leave --qkv out"):
        demo.subjects(None, ["fused"])
    with pytest.raises(ShapeError, match="leave --kernel out"):
        demo.subjects(None, None, ["folded"])
    with pytest.raises(UnsupportedOption, match="demo reads ahead, so it writes no token"):
        demo.subjects(["sdpa"])[0].predict(Case(length=64, mode="decode"))
