"""`attncost count --memory`: what is in memory beside what is computed."""

import json
import shlex

import pytest
import torch

import attncost as ac
from attncost.cli import main

LAYER = "layer:d_model=16,heads=2"
MODULES = """
import torch
from torch import nn

def plain(length, batch):
    return nn.Linear(8, 4), torch.zeros(batch, length, 8)

class Looks(nn.Linear):
    def forward(self, x):
        return x if x.sum() > 0 else super().forward(x)

def looks(length):
    with torch.device("cpu"):
        return Looks(8, 4), torch.zeros(1, length, 8)
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "memories.py").write_text(MODULES)


def counted(*arguments, capsys):
    assert main(["count", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_memory_is_what_the_library_finds(capsys):
    found = counted(LAYER, "--length", "64", "--batch", "2", "--memory", capsys=capsys)
    layer = ac.nn.Attention(16, 2).eval()
    with torch.no_grad():
        expected = ac.memory(layer, torch.zeros(2, 64, 16))
    (model,) = found["models"]
    assert model["memory"]["by_part"] == expected.by_part
    assert model["memory"]["kept"] == expected.kept
    assert model["memory"]["peak"] == sum(expected.by_part.values())
    assert model["memory"]["exact"] is expected.exact
    name, *again = shlex.split(found["command"])
    assert (name, "--memory" in again) == ("attncost", True)
    assert counted(*again[1:], capsys=capsys) == found


def test_training_adds_gradients_and_the_state_of_the_optimizer(capsys):
    how = ["memories:plain", "--length", "6", "--memory", "--training"]
    parts = {
        name: counted(*how, *more, capsys=capsys)["models"][0]["memory"]["by_part"]
        for name, more in {
            "none": (),
            "sgd": ("--optimizer", "sgd"),
            "adamw": ("--optimizer", "adamw"),
        }.items()
    }
    weights = 4 * (8 * 4 + 4)
    assert {found["parameters"] for found in parts.values()} == {weights}
    assert parts["none"]["optimizer"] == parts["sgd"]["optimizer"] == 0
    assert parts["adamw"]["optimizer"] == 2 * weights + 2 * 4, "and each tensor's number of steps"
    assert parts["adamw"]["gradients"] == weights


def test_it_is_read_on_80_columns_and_depth_hides_what_lies_deeper(capsys):
    how = ["count", "demo", "--length", "32", "--memory", "--training", "--depth"]
    printed = []
    for depth in ("2", "4"):
        assert main([*how, depth]) == 0
        printed.append(capsys.readouterr().out.partition("\nMemory\n")[2])
    assert [line for line in "".join(printed).splitlines() if len(line) > 80] == []
    assert "Exact: what PyTorch's allocator" in printed[0]
    assert "What the forward pass keeps for the backward pass" in printed[0]
    assert "attention  " not in printed[0]
    assert "attention  " in printed[1]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([LAYER, LAYER, "--memory"], "--memory is that of one model: leave OTHER out"),
        ([LAYER, "--optimizer", "sgd"], "give --memory --training, too"),
        ([LAYER, "--memory", "--optimizer", "sgd"], "give --memory --training, too"),
        (
            [LAYER, "--memory", "--training", "--optimizer", "adam"],
            "no optimizer is called 'adam'; did you mean 'adamw'?",
        ),
        (["memories:looks", "--length", "4", "--memory"], "looks at numbers"),
    ],
)
def test_a_mistaken_request_is_answered_in_one_line(arguments, reason, capsys):
    assert main(["count", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("attncost: ")
    assert reason in line
