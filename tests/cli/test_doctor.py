import json
import sys

import pytest
import torch

from attncost.cli import main
from attncost.core import discovery
from attncost.measure.doctor import checks

LAYER = "layer:d_model=16,heads=2"
QUICK = ["--length", "32", "--only", "sdpa_strides, fast_path"]

MODULE = """
import torch
from torch import nn


def encoder(length, batch):
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    return nn.TransformerEncoder(layer, 2), torch.zeros(batch, length, 16)


def linear(length, batch):
    return nn.Linear(8, 8), torch.zeros(batch, length, 8)
"""


def doctored(arguments, capsys, status=0):
    assert main(["doctor", *arguments]) == status
    return capsys.readouterr()


def test_it_measures_a_layer_and_changes_nothing(capsys):
    before = torch.get_num_threads(), torch.backends.mha.get_fastpath_enabled()
    printed = doctored([LAYER, *QUICK], capsys)
    lines = printed.out.splitlines()
    assert lines[0] == "What defaults waste here: layer:d_model=16,heads=2, 32 tokens"
    assert max(map(len, lines)) <= 80
    assert any(line.startswith("sdpa_strides ") for line in lines)
    assert printed.err == "", "no progress bar where there is no terminal"
    assert (torch.get_num_threads(), torch.backends.mha.get_fastpath_enabled()) == before


def test_json_names_its_schema_the_machine_and_the_command(capsys):
    found = json.loads(doctored([LAYER, *QUICK, "--json"], capsys).out)
    assert (found["schema"], found["length"]) == ("attncost.doctor/1", 32)
    assert {one["check"] for one in found["diagnoses"]} == {"sdpa_strides", "fast_path"}
    assert (
        found["command"] == f"attncost doctor {LAYER} --length 32 --only 'sdpa_strides, fast_path'"
    )
    assert found["environment"]["clock"] == "process CPU time"


def test_what_there_is_no_time_for_is_listed_and_no_failure(capsys):
    printed = doctored([LAYER, "--budget", "0.01", "--json"], capsys)
    found = json.loads(printed.out)["diagnoses"]
    assert {one["check"] for one in found} == set(checks.names())
    assert {one["verdict"] for one in found} == {"not run"}


CHECK = """
from typing import ClassVar, final

from attncost.measure.doctor.interface import Check


@final
class Broken(Check):
    asks: ClassVar[str] = "does it break?"

    def answers(self, patient, instruments):
        raise RuntimeError("no such operation")
"""


def test_a_check_that_fails_makes_it_end_with_1(capsys, tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text(CHECK)
    monkeypatch.setattr(checks, "__path__", [*checks.__path__, str(tmp_path)])
    discovery._ours.cache_clear()
    try:
        wishes = [LAYER, "--length", "32", "--only", "broken,fast_path"]
        printed = doctored(wishes, capsys, status=1)
    finally:
        discovery._ours.cache_clear()
    assert "broken: RuntimeError: no such operation" in printed.out
    assert "fast_path_encoder" in printed.out


def test_a_function_is_examined_by_the_modules_that_it_returns(capsys, tmp_path, monkeypatch):
    (tmp_path / "examined.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    quick = ["--length", "32", "--only", "fast_path", "--json"]
    found = json.loads(doctored(["examined:encoder", *quick], capsys).out)
    (one,) = found["diagnoses"]
    assert one["what"] == "2 x nn.TransformerEncoderLayer in evaluation, 32 tokens"
    found = json.loads(doctored(["examined:linear", *quick], capsys).out)
    (one,) = found["diagnoses"]
    assert one["verdict"] == "does not apply"
    assert "examined:linear holds no nn.TransformerEncoderLayer" in one["reason"]


def test_a_preset_has_sizes_and_perhaps_no_layer_of_pytorch(capsys):
    wishes = ["gpt2", "--length", "16", "--only", "need_weights", "--json"]
    (one,) = json.loads(doctored(wishes, capsys).out)["diagnoses"]
    assert one["verdict"] == "does not apply"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--only", "fast_pth"], "did you mean 'fast_path'"),
        (["--only", ""], "no check is called ''"),
        (["--length", "0"], "length must be at least 1, got 0"),
        (["--budget", "0"], "--budget must be a positive time such as 90s, 2m or 1h, got '0'"),
        (["--budget", "nan"], "--budget must be a positive time such as 90s, 2m or 1h, got 'nan'"),
        (["gpt2", "--length", "2048"], "gpt2 has positions for 1024 tokens, got a length of 2048"),
        (["layer:heads=3"], "heads must divide d_model"),
        (["no:such"], "there is no module 'no' here"),
    ],
)
def test_a_mistaken_request_is_answered_in_one_line(arguments, reason, capsys):
    (line,) = doctored(arguments, capsys, status=2).err.splitlines()
    assert line.startswith("attncost: ")
    assert reason in line


def test_on_a_terminal_a_bar_says_what_is_checked(capsys, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert "checking " in doctored([LAYER, *QUICK], capsys).err
