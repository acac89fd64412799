import json

import pytest

from attncost.cli import main

TINY = {
    "model_type": "mistral",
    "architectures": ["MistralForCausalLM"],
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 64,
    "vocab_size": 50,
    "sliding_window": 8,
    "max_position_embeddings": 64,
    "tie_word_embeddings": True,
}


@pytest.fixture
def model(tmp_path, monkeypatch):
    """Write the settings of a small model into a folder, and go beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()

    def write(**settings):
        (tmp_path / "model" / "config.json").write_text(json.dumps(TINY | settings))

    write()
    return write


@pytest.fixture
def locked(model, tmp_path, capsys):
    assert main(["check", "model", "--write"]) == 0
    assert capsys.readouterr().out.startswith("cost.lock: model is locked, one sequence of 64")
    return tmp_path / "cost.lock"


def test_a_model_that_is_as_locked_passes_in_one_line(locked, capsys):
    before = locked.read_bytes()
    assert main(["check", "model"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line == "model is as locked in cost.lock: one sequence of 64 tokens, forward"
    assert locked.read_bytes() == before


@pytest.mark.parametrize(
    ("settings", "change"),
    [
        ({"num_hidden_layers": 4}, "model.layers.3 (13 modules): new"),
        ({"num_hidden_layers": 2}, "model.layers.2 (13 modules): gone"),
        ({"tie_word_embeddings": False}, "lm_head: parameters 0 -> 1,600"),
        ({"sliding_window": None}, "model.layers.0-2.self_attn (3 alike): useful"),
        ({"num_key_value_heads": 4}, "model.layers.0-2.self_attn.k_proj (3 alike): useful"),
        ({"intermediate_size": 65}, "model.layers.0-2.mlp.up_proj (3 alike): useful"),
        ({"vocab_size": 51}, "lm_head: useful"),
    ],
)
def test_the_gate_breaks_and_names_the_module_that_changed(settings, change, model, locked, capsys):
    before = locked.read_bytes()
    model(**settings)
    assert main(["check", "model"]) == 1
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if len(line) > 80] == []
    words = " ".join(printed.split())
    assert "model is not what was locked in cost.lock" in words
    assert change in words.partition("What differs")[2]
    assert "attncost check model --write" in words
    assert locked.read_bytes() == before, "only --write writes"


def test_what_changed_is_locked_anew_only_when_asked(model, locked, capsys):
    model(num_hidden_layers=4)
    assert main(["check", "model", "--write"]) == 0
    assert main(["check", "model"]) == 0
    model()
    assert main(["check", "model", "--json"]) == 1
    found = json.loads(capsys.readouterr().out.partition("{")[2].join("{ "))
    assert found["schema"] == "attncost.check/1"
    assert found["equal"] is False
    assert {
        one["module"].split(".")[2] for one in found["differences"] if one["after"] is None
    } == {"3"}


def test_another_version_of_a_library_leaves_out_what_libraries_decide(locked, capsys):
    text = locked.read_text()
    torch = next(line for line in text.splitlines() if line.startswith("torch = "))
    other = text.replace(torch, 'torch = "2.11.0"').replace("elementwise = 1", "elementwise = 2")
    assert text != other
    locked.write_text(other)
    assert main(["check", "model"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "elementwise and bytes were not compared: locked with torch 2.11.0, here" in printed


def test_one_file_holds_several_models_each_in_its_setting(locked, capsys):
    layer = "layer:d_model=16,heads=2"
    options = ["--length", "8", "--batch", "2", "--training"]
    assert main(["check", layer, "--write", *options]) == 0
    capsys.readouterr()
    assert main(["check", layer]) == 0
    assert "2 sequences of 8 tokens, forward and backward" in capsys.readouterr().out
    assert main(["check", "model"]) == 0
    assert main(["check", layer, "--length", "9"]) == 2
    assert "is locked in cost.lock with length = 8, got 9" in capsys.readouterr().err


def test_a_factory_whose_inputs_have_their_own_sizes_is_locked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "for_the_gate.py").write_text(
        "import torch\n"
        "from torch import nn\n"
        "def make():\n    return nn.Linear(3, 5), torch.zeros(2, 3)\n"
    )
    assert main(["check", "for_the_gate:make", "--write", "--lock", "other.lock"]) == 0
    assert main(["check", "for_the_gate:make", "--lock", "other.lock"]) == 0
    assert "as locked in other.lock: its own inputs, forward" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["model"], "cost.lock does not exist: write it with `attncost check model --write`"),
        (["nothing", "--write"], "no model, folder, preset or model in the cache is called"),
        (
            ["model", "--write", "--lock", "no/such/cost.lock"],
            "no/such/cost.lock cannot be written",
        ),
        (["model", "--write", "--length", "0"], "--length must be at least 1, got 0"),
    ],
)
def test_a_mistaken_request_is_answered_in_one_line(arguments, reason, model, tmp_path, capsys):
    assert main(["check", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert reason in line
    assert not list(tmp_path.glob("*.lock"))


def test_a_model_that_was_never_locked_is_a_mistaken_request(locked, capsys):
    assert main(["check", "layer"]) == 2
    assert "no model in cost.lock is called 'layer:d_model=512,heads=8'" in capsys.readouterr().err
    locked.write_text("x = 3")
    assert main(["check", "model"]) == 2
    assert "must begin with schema" in capsys.readouterr().err
