"""`attncost plan --time`, against a machine whose laws are known."""

import json

import pytest
from tests.measure.speed.machine import RATE, START, machine

from attncost.cli import main

LAYER = "layer:d_model=64,heads=4"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "here.json"
    path.write_text(json.dumps(machine().as_dict()))
    return str(path)


@pytest.fixture
def planned(capsys, file):
    def run(*arguments):
        how = ["--memory", "1GiB", "--calibration", file, "--time", "--json"]
        assert main(["plan", *arguments, *how]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def test_the_time_of_a_layer_is_that_of_its_products_and_its_attention(planned):
    (found,) = planned(LAYER, "--length", "128", "--for", "prefill")["times"]
    projections, core = 8 * 128 * 64**2, 4 * 128**2 * 64
    parts = {row["operation"]: row for row in found["by_operation"]}
    assert found["flops"] == projections + core
    products = parts["aten::mm" if "aten::mm" in parts else "aten::addmm"]
    assert products["seconds"] == pytest.approx(
        products["calls"] * START + projections * RATE, rel=1e-6
    )
    assert found["seconds"]["low"] <= found["seconds"]["value"] <= found["seconds"]["high"]


def test_every_length_and_work_that_is_asked_for_has_a_time(planned):
    found = planned(LAYER, "--lengths", "64,256", "--batch", "2")
    assert [(one["work"], one["length"], one["batch"]) for one in found["times"]] == [
        ("prefill", 64, 2),
        ("prefill", 256, 2),
        ("training", 64, 2),
        ("training", 256, 2),
    ]
    short, long = (one["seconds"]["value"] for one in found["times"][:2])
    assert long > short


def test_a_model_that_is_run_is_timed_too(planned, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "import torch\n"
        "def small(length: int, batch: int):\n"
        "    return torch.nn.Linear(8, 4), torch.zeros(batch, length, 8)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    (found,) = planned("mine:small", "--length", "32", "--for", "prefill")["times"]
    assert found["flops"] == 2 * 32 * 8 * 4
    assert found["seconds"]["value"] == pytest.approx(START + found["flops"] * RATE)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--time"], "--time needs to know this machine: give --calibration a file"),
        (["--time", "--calibration", "none.json"], "none.json cannot be read"),
        (
            ["--time", "--calibration", "old.json"],
            "old.json holds two rates, and times need",
        ),
        (["--time", "--calibration", "bad.json"], "bad.json is no calibration"),
        (["--time", "--calibration", "old.json", "--for", "decode"], "--time predicts prefill"),
    ],
)
def test_a_mistaken_wish_for_times_is_answered_in_one_line(
    arguments, reason, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    rates = {"flops_per_second": 1e12, "bytes_per_second": 1e12}
    (tmp_path / "old.json").write_text(json.dumps({"schema": "attncost.calibration/1", **rates}))
    broken = machine().as_dict() | {"tables": {"gelu": {}}}
    (tmp_path / "bad.json").write_text(json.dumps(broken))
    assert main(["plan", "llama-3-8b", "--memory", "80GiB", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert reason in line


def test_a_calibration_with_tables_gives_its_two_rates_to_a_plan_without_times(file, capsys):
    how = ["plan", "llama-3-8b", "--memory", "80GiB", "--for", "decode", "--calibration", file]
    assert main([*how, "--length", "8", "--json"]) == 0
    tables = json.loads(capsys.readouterr().out)["tables"]
    assert any(table["title"].startswith("Speed of decode") for table in tables)
