import json
import sys

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
    ("settings", "shown", "module", "differs"),
    [
        ({"num_hidden_layers": 4}, "layers.3", "model.layers.3.mlp.up_proj", "useful"),
        ({"num_hidden_layers": 2}, "layers.2", "model.layers.2.mlp.up_proj", "useful"),
        ({"tie_word_embeddings": False}, "lm_head", "lm_head", "parameters"),
        ({"sliding_window": None}, "self_attn", "model.layers.2.self_attn", "useful"),
        ({"num_key_value_heads": 4}, "k_proj", "model.layers.0.self_attn.k_proj", "useful"),
        ({"intermediate_size": 65}, "up_proj", "model.layers.1.mlp.up_proj", "useful"),
        ({"vocab_size": 51}, "lm_head", "lm_head", "useful"),
    ],
)
def test_the_gate_breaks_and_names_the_module_that_changed(
    settings, shown, module, differs, model, locked, capsys
):
    before = locked.read_bytes()
    model(**settings)
    assert main(["check", "model"]) == 1
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if len(line) > 80] == []
    words = " ".join(printed.split())
    assert "model is not what was locked in cost.lock" in words
    assert shown in words.partition("What differs")[2].split(" If that is meant ")[0]
    assert "attncost check model --write" in words
    assert main(["check", "model", "--json"]) == 1
    differences = json.loads(capsys.readouterr().out)["differences"]
    sides = {one["module"]: (one["before"] or {}, one["after"] or {}) for one in differences}
    assert sides[module][0].get(differs) != sides[module][1].get(differs)
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
    other = text.replace(torch, 'torch = "2.10.0"').replace("elementwise = 1", "elementwise = 2")
    assert text != other
    locked.write_text(other)
    assert main(["check", "model"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "elementwise and bytes were not compared: locked with torch 2.10.0, here" in printed


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


def test_a_window_that_changed_inside_attention_by_hand_breaks_the_gate(model, capsys):
    gemma = {"model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"], "head_dim": 8}
    model(**gemma, sliding_window=64)
    assert main(["check", "model", "--write"]) == 0
    assert main(["check", "model"]) == 0
    model(**gemma, sliding_window=64, eos_token_id=3, initializer_range=0.5)
    assert main(["check", "model"]) == 0, "no number of a token and no start has a cost"
    capsys.readouterr()
    model(**gemma, sliding_window=8)
    assert main(["check", "model"]) == 1
    assert "sliding_window: 64 -> 8" in capsys.readouterr().out
    assert main(["check", "model", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["settings"] == {"sliding_window": [64, 8]}


def test_a_bound_that_was_exact_breaks_the_gate(locked, capsys):
    text = locked.read_text()
    assert "at_most = []" in text
    locked.write_text(text.replace("at_most = []", 'at_most = ["a mask has no values"]'))
    assert main(["check", "model"]) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "useful was an upper bound (a mask has no values), and now is exact" in printed


def test_writing_is_told_in_json_too(model, capsys):
    assert main(["check", "model", "--write", "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert (written["schema"], written["written"], written["lock"]) == (
        "attncost.check/1",
        True,
        "cost.lock",
    )
    assert main(["check", "model", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["written"] is False


@pytest.fixture
def code(tmp_path, monkeypatch):
    """Write a module of the user's, and go to its folder."""
    monkeypatch.chdir(tmp_path)

    def write(text):
        (tmp_path / "code_for_the_gate.py").write_text(text)

    yield write
    sys.modules.pop("code_for_the_gate", None)


MAKE = "import sys, torch\nfrom torch import nn\ndef make():\n"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("import sys\nsys.exit(0)\n", "2"),
        (MAKE + "    sys.exit(0)\n", "4"),
        (
            MAKE + "    return Ends(), torch.zeros(3)\n"
            "class Ends(nn.Module):\n    def forward(self, x):\n        sys.exit(0)\n",
            "7",
        ),
    ],
    ids=["import", "factory", "forward"],
)
def test_code_that_ends_the_process_does_not_pass_the_gate(text, place, code, capsys):
    code(text)
    assert main(["check", "code_for_the_gate:make", "--write"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"raised SystemExit in code_for_the_gate.py:{place}: 0" in line


def test_inputs_that_do_not_fit_are_a_mistake_of_the_function(code, capsys):
    code(MAKE + "    return nn.Linear(3, 5), torch.zeros(2, 4)\n")
    assert main(["check", "code_for_the_gate:make", "--write"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "code_for_the_gate:make raised RuntimeError in" in line


def test_what_a_function_prints_is_no_output_of_ours(code, capsys):
    code(
        "print('while it is imported')\n"
        + MAKE
        + "    print('while it is made')\n    return Says(), torch.zeros(3, 4)\n"
        "class Says(nn.Module):\n    def forward(self, x):\n"
        "        print('while it runs')\n        return x @ x.mT\n"
    )
    assert main(["check", "code_for_the_gate:make", "--write", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["written"] is True
    for moment in ("is imported", "is made", "runs"):
        assert f"while it {moment}" in printed.err


def test_transformers_says_nothing_of_a_model_that_is_only_counted(model, capfd):
    model(eos_token_id=5_000_000)
    assert main(["check", "model", "--write"]) == 0
    assert capfd.readouterr().err == ""


def test_a_defect_of_ours_does_not_say_changed(locked, monkeypatch, capsys):
    def broken(*_, **__):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("attncost.cost.lock.compare", broken)
    assert main(["check", "model"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "nothing was compared: ZeroDivisionError in test_check.py" in line


def test_a_lock_that_somebody_damaged_does_not_say_changed(locked, capsys):
    locked.write_text(locked.read_text().replace("length = 64", 'length = "x"'))
    assert main(["check", "model"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "cost.lock is damaged: models.model.setting.length must be a whole number" in line


def test_a_slash_at_the_end_of_a_folder_is_no_other_model(locked, capsys):
    assert main(["check", "./model/"]) == 0
    assert "model is as locked in cost.lock" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["model"], "cost.lock does not exist: write it with `attncost check model --write`"),
        (["nothing", "--write"], "no model, folder, preset or model in the cache is called"),
        (
            ["model", "--write", "--lock", "no/such/cost.lock"],
            "no/such/cost.lock cannot be written",
        ),
        (["model", "--write", "--length", "0"], "length must be at least 1, got 0"),
    ],
)
def test_a_mistaken_request_is_answered_in_one_line(arguments, reason, model, tmp_path, capsys):
    assert main(["check", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert reason in line
    assert not list(tmp_path.glob("*.lock"))


def test_a_model_that_was_never_locked_is_a_mistaken_request(locked, capsys):
    assert main(["check", "layer"]) == 2
    error = capsys.readouterr().err
    assert "no model in cost.lock is called 'layer:d_model=512,heads=8'" in error
    assert "Known: model" in error
    locked.write_text("x = 3")
    assert main(["check", "model"]) == 2
    assert "must begin with schema" in capsys.readouterr().err
