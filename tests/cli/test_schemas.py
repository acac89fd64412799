"""All JSON of the command names its form and the version of that form."""

import inspect
import json
import re
from importlib import import_module
from pathlib import Path

import pytest
from tests.integrations.tiny import save_bert

from attncost import cli
from attncost.cli import main

COMMANDS = sorted(p.stem for p in Path(cli.__file__).parent.glob("[!_]*.py"))
LAYER = "layer:d_model=32,heads=2"
RECALL = "recall:length=6,pairs=2,keys=4,values=2"
# What each is asked for, as little as possible; `bert` is a folder with a tiny model.
ASKED = {
    "calculator": [LAYER],
    "check": [LAYER, "--write"],
    "count": [LAYER, "--length", "8"],
    "derive": ["window:width=4", "--length", "8"],
    "doctor": [LAYER, "--length", "32", "--only", "sdpa_strides"],
    "export": ["run", "-o", "samples.csv"],
    "fit": ["run"],
    "maps": ["bert", "--text", "text.txt"],
    "measure": [LAYER, "--lengths", "8,16", "--rounds", "2"],
    "plan": ["llama-3-8b", "--memory", "80GiB"],
    "profile": [LAYER, "--length", "8"],
    "quality": [RECALL, "--attention", "causal", "--seeds", "1", "--steps", "2", "--d-model", "8"],
    "report": [LAYER, "--no-measure"],
}


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("asked")
    (folder / "text.txt").write_text("the cat sat on the mat\n")
    save_bert(folder / "bert")
    (folder / "run").symlink_to(Path(__file__).parents[1] / "data" / "run-1")
    return folder


def offers_json(command):
    return (
        "as_json"
        in inspect.signature(getattr(import_module(f"attncost.cli.{command}"), command)).parameters
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_prints_json_with_a_schema(command, here, monkeypatch, capsys):
    monkeypatch.chdir(here)
    assert offers_json(command)
    assert main([command, *ASKED[command], "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    name, version = re.fullmatch(r"attncost\.([a-z_]+)/(\d+)", printed["schema"]).groups()
    assert name.startswith(command)
    assert int(version) >= 1
