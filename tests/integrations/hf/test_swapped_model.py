"""A swapped model is shown, copied, saved and trained like any other."""

import copy
import pickle

import pytest
import torch
from tests.integrations.hf import zoo

from attncost import Fixed, Full, Linformer, Window, hf

LLAMA = zoo.inputs("llama", "left")


@pytest.fixture
def model():
    return zoo.ZOO["llama"]()


def outputs(model, batch=LLAMA):
    return zoo.evaluated(model, batch)


def test_a_swapped_model_shows_it_in_80_columns(model):
    swapped = hf.swap(model, Window(3), layers=[0, 2])
    assert repr(model).count("(attncost): Attends(Window(width=3, ahead=0))") == 2
    assert str(swapped).splitlines() == [
        "LlamaForCausalLM: 2 of 3 attention layers read Window(width=3, ahead=0) within",
        "    their masks",
        "  model.layers.0.self_attn",
        "  model.layers.2.self_attn",
    ]
    t5 = str(hf.swap(zoo.ZOO["t5"](), Fixed(4, summary=1) & Window(1000)))
    assert max(map(len, f"{swapped}\n{t5}".splitlines())) <= 80
    swapped.restore()
    assert "no longer read" in str(swapped)


def test_a_copy_stays_as_it_is_when_the_model_is_taken_back(model):
    own = outputs(model)
    with hf.swap(model, Window(3)):
        other = outputs(model)
        copies = copy.deepcopy(model), pickle.loads(pickle.dumps(model))
    assert torch.equal(outputs(model), own)
    for one in copies:
        assert torch.equal(outputs(one), other)


def test_weights_keep_their_names_and_are_saved_as_ever(model, tmp_path):
    names, own = list(model.state_dict()), outputs(model)
    with hf.swap(model, Window(3)):
        other = outputs(model)
        assert list(model.state_dict()) == names
        model.save_pretrained(tmp_path)
    loaded = type(model).from_pretrained(tmp_path).eval()
    assert torch.equal(outputs(loaded), own)
    with hf.swap(loaded, Window(3)):
        assert torch.equal(outputs(loaded), other)


def test_learned_tensors_of_a_mechanism_are_saved_beside_the_others():
    model, other = zoo.ZOO["vit"](), zoo.ZOO["vit"]()
    names, batch = set(model.state_dict()), zoo.inputs("vit")
    hf.swap(model, Linformer(rank=4), length=17, layers=[1])
    learned = {f"layers.1.attention.attncost.{kind}_projection" for kind in ("key", "value")}
    assert set(model.state_dict()) - names == learned
    assert learned <= {name for name, _ in model.named_parameters()}
    swapped = hf.swap(other, Linformer(rank=4), length=17, layers=[1])
    other.load_state_dict(model.state_dict())
    assert torch.equal(outputs(other, batch), outputs(model, batch))
    swapped.restore()
    assert set(other.state_dict()) == names
    half = zoo.ZOO["vit"](torch.bfloat16)
    hf.swap(half, Linformer(rank=4), length=17)
    assert {p.dtype for p in half.parameters()} == {torch.bfloat16}


def test_weights_are_dropped_in_training_only():
    model = zoo.ZOO["llama"](attention_dropout=0.5)
    with hf.swap(model, Window(5)):
        quiet = outputs(model)
        assert torch.equal(outputs(model), quiet)
        model.train()
        drawn = []
        for seed in (0, 0, 1):
            torch.manual_seed(seed)
            drawn.append(outputs(model))
        assert torch.equal(drawn[0], drawn[1])
        assert not torch.equal(drawn[0], drawn[2])
        assert not torch.equal(drawn[0], quiet)


@pytest.mark.parametrize("pattern", [Full(), Window(5), Fixed(4, summary=1)], ids=str)
@pytest.mark.parametrize(("name", "reentrant"), [("llama", True), ("llama", False), ("t5", False)])
def test_checkpointing_changes_no_bit(name, pattern, reentrant):
    dropout = {"dropout_rate": 0.1} if name == "t5" else {"attention_dropout": 0.1}
    model, batch = zoo.ZOO[name](**dropout).train(), zoo.inputs(name, "right")
    hf.swap(model, pattern)
    found = []
    for checkpointed in (False, True):
        if checkpointed:
            model.activation_checkpointing_enable({"use_reentrant": reentrant})
        torch.manual_seed(5)
        model.zero_grad()
        out = zoo.outputs(model, batch)
        out.square().mean().backward()
        found.append([out, *(p.grad for p in model.parameters())])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
