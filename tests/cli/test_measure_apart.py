import json

import pytest

from attncost.cli import main
from attncost.measure.sweep.lock import machine_lock

LAYER = "layer:d_model=16,heads=2"


def test_a_name_that_is_taken_is_said_while_another_sweep_measures(tmp_path, capsys):
    (tmp_path / "mine").write_text("mine")
    with machine_lock():
        assert main(["measure", LAYER, "--lengths", "8", "-o", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "exists already" in line


PRINTING = """
from torch import nn


class Printing(nn.Linear):
    d_model = 8

    def forward(self, x):
        print("from the model")
        return super().forward(x)


def make(length=1, batch=1):
    import torch

    print("from its function")
    return Printing(8, 8), torch.zeros(batch, length, 8)
"""


@pytest.mark.parametrize("isolate", [[], ["--isolate"]])
def test_what_a_model_prints_is_no_part_of_the_output(isolate, tmp_path, capfd, monkeypatch):
    (tmp_path / "printing.py").write_text(PRINTING)
    monkeypatch.chdir(tmp_path)
    wishes = ["--lengths", "8,16", "--rounds", "2", "--json", "-o", "run", *isolate]
    assert main(["measure", "printing:make", *wishes]) == 0
    printed = capfd.readouterr()
    assert json.loads(printed.out)["run"] == "run"
    assert {"from the model", "from its function"} <= set(printed.err.splitlines())


def test_a_first_length_beyond_the_budget_is_a_row(tmp_path, capsys):
    wishes = ["--attention", "naive", "--qkv", "fused", "--lengths", "16777216"]
    assert main(["measure", LAYER, *wishes, "-o", str(tmp_path / "run")]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "naive, fused qkv at 16,777,216 (budget): a call would take" in said
