import json
from pathlib import Path

import pytest
from tests.measure.speed.machine import machine

from attncost.cli import main

LAYER, SWAPPED = "layer:d_model=16,heads=2", "layer:heads=2,d_model=16"
ALONE = ["--beside", "none"]  # one model less to price


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Three rounds of the smallest layer, measured once for all tests, under its other name."""
    path = tmp_path_factory.mktemp("runs") / "run"
    arguments = ["measure", SWAPPED, "--lengths", "8,16,32,64", "--qkv", "fused", "--rounds", "3"]
    assert main([*arguments, "-o", str(path)]) == 0
    return path


def test_some_lines_and_a_page(run, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main([LAYER, "--run", str(run), "--brief", "-o", str(page)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 12
    assert printed[-1] == f"The page: {page}"
    assert [line for line in printed[:-1] if len(line) > 80] == []
    assert "<svg" in page.read_text()


def test_json_carries_what_the_page_says(run, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["report", LAYER, "--run", str(run), "--brief", "-o", str(page), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "attncost.report/1"
    assert len(found["findings"]) == 10
    assert {cell["length"] for cell in found["measured"]} == {8, 16, 32, 64}
    assert set(found["laws"]) == {cell["subject"] for cell in found["measured"]}
    assert all(finding["text"] in page.read_text() for finding in found["findings"])


def test_series_of_one_subject_are_kept_apart(tmp_path, capsys):
    run, wishes = tmp_path / "run", ["--attention", "full,naive", "--qkv", "fused"]
    axes = ["--lengths", "8,16,32,64", "--batch", "1,4", "--rounds", "2"]
    assert main(["measure", LAYER, *wishes, *axes, "-o", str(run)]) == 0
    capsys.readouterr()
    page = ["-o", str(tmp_path / "page.html"), "--json"]
    assert main([LAYER, "--run", str(run), "--brief", *ALONE, *page]) == 0
    found = json.loads(capsys.readouterr().out)
    held = {(cell["subject"], cell["length"]): cell["peak_bytes"] for cell in found["measured"]}
    assert len(held) == len(found["measured"]) == 2 * 2 * 4
    names = {subject for subject, _ in held}
    assert names == set(found["laws"])
    for name in (name for name in names if name.endswith("batch 4")):
        usual = next(n for n in names - {name} if n.startswith(name.partition(",")[0]))
        assert held[name, 64] > 2 * held[usual, 64]
    (memory,) = [one for one in found["tables"] if one["title"].startswith("Peak memory")]
    by_formula = {row[0] for row in memory["rows"] if row[3] is not None}
    assert by_formula == {name for name in names if not name.endswith("batch 4")}
    (time,) = [one for one in found["findings"] if one["key"] == "measured_time"]
    assert "batch 4" not in time["text"], "one sequence, as on all of the page"


def test_the_demo_measures_a_real_model_and_reads_a_text(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    # Making a calibration takes half a minute; `make report` does.
    (tmp_path / "here.json").write_text(json.dumps(machine().as_dict()))
    known = ["--calibration", "here.json"]
    text = tmp_path / "lines.txt"
    text.write_text("one line\nand another, longer line\n\n" + "long " * 600 + "\n")
    arguments = ["demo", "--text", str(text), "--batch", "2", "--rounds", "2", "--lengths", "8,32"]
    assert main([*arguments, *known, *ALONE]) == 0
    printed = capsys.readouterr().out
    assert "MiniLM-L6, 512 tokens: 13.3 GFLOPs, 18.2 % attention" in printed
    assert "32 tokens take" in printed
    page = (tmp_path / "attncost-report.html").read_text()
    assert "in tokens of the model&#x27;s own tokenizer: 3 lines of 4 to 512, median" in page
    assert "1 of 3 texts is longer than 512 tokens: cut off there" in page
    (samples,) = tmp_path.glob("attncost-run-*/samples.jsonl")
    assert " of 72 heads" in printed
    assert f"The maps: {tmp_path / 'attncost-report-maps.html'}" in printed
    assert "none of its words; the maps beside it contain the words." in page
    assert '<a href="attncost-report-maps.html">' in page
    maps = (tmp_path / "attncost-report-maps.html").read_text()
    assert 20_000_000 > len(maps) > len(page)
    assert '"one","line","and","another"' in maps
    brief = ["demo", "--run", str(samples.parent), "--brief", "-o", "brief.html", *ALONE]
    assert main(brief) == 0
    assert "heads" not in capsys.readouterr().out
    assert "attncost-report-maps" not in (tmp_path / "brief.html").read_text()
    assert not (tmp_path / "brief-maps.html").exists()


def test_a_run_of_another_model_is_not_taken_for_this_one(run, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["layer:d_model=32,heads=2", "--run", str(run), "-o", str(page)]) == 2
    assert f"is a run of {LAYER}, not of layer:d_model=32,heads=2" in capsys.readouterr().err
    assert not page.exists()


def test_a_layer_is_the_same_however_it_is_typed(run, tmp_path, capsys):
    """The run was typed in one order of its sizes; all other tests here read it in the other."""
    page = ["-o", str(tmp_path / "page.html")]
    assert main([SWAPPED, "--run", str(run), "--brief", *page, *ALONE]) == 0
    assert "64 tokens take" in capsys.readouterr().out


def test_what_is_not_measured_says_so_in_its_command(tmp_path):
    page = tmp_path / "page.html"
    assert main([LAYER, "--no-measure", "--batch", "8", "-o", str(page), *ALONE]) == 0
    assert "--no-measure" in page.read_text()
    assert "What it takes here" not in page.read_text()


def test_a_preset_is_priced_without_measuring(tmp_path, capsys):
    assert main(["llama-3-8b", "--rounds", "3", "-o", str(tmp_path / "page.html")]) == 2
    assert "llama-3-8b has no weights here to measure" in capsys.readouterr().err
    page = tmp_path / "page.html"
    assert main(["llama-3-8b", "-o", str(page), *ALONE]) == 0
    assert "llama-3-8b, 131,072 tokens: 6.47 PFLOPs" in capsys.readouterr().out
    assert "measured" not in page.read_text().partition("<h2")[0]


def test_memory_stands_by_part_where_a_model_can_be_measured(tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main([LAYER, "--no-measure", "-o", str(page), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    forward, step = found["memory"].values()
    weights = 4 * 4 * (16 * 16 + 16)
    assert forward["by_part"]["parameters"] == step["by_part"]["parameters"] == weights
    assert (forward["by_part"]["optimizer"], step["by_part"]["optimizer"]) == (0, 2 * weights + 16)
    tables = [table for table in found["tables"] if table["title"].startswith("Memory by part")]
    assert [sum(row[1] for row in table["rows"][:-1]) for table in tables] == [
        forward["peak"],
        step["peak"],
    ]
    assert "--memory --training" not in tables[0]["command"]
    assert tables[1]["command"].endswith("--training --optimizer adamw")


def test_a_model_of_images_is_priced_for_a_whole_image_and_says_what_is_missing(tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["vit-b-16", "--beside", "none", "-o", str(page)]) == 0
    # torchvision lists 17.56 G multiply-adds for an image of 224 x 224.
    assert "vit-b-16, 197 tokens: 35.1 GFLOPs" in capsys.readouterr().out
    assert "it reads images, and inputs of those are not made here" in page.read_text()
    assert main(["vit-b-16", "--text", "a.txt", "-o", str(page)]) == 2
    assert "reads images, no text: leave --text out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--batch", "0"], "--batch must be at least 1, got 0"),
        (["--text", "missing.txt"], "missing.txt cannot be read (No such file"),
        (["-o", "no/folder/page.html"], "no/folder/page.html cannot be written"),
        (["-o", "page.pdf"], "page.pdf must end with .html, .md, .json or .txt"),
        (["--beside", "llama-3-9b"], "did you mean 'llama-3-8b'"),
        (["--run", "no-run"], "no-run"),
        (["--run", "no-run", "--rounds", "3"], "leave --rounds out"),
        (["--run", "no-run", "--no-measure"], "leave one out"),
        (["--no-measure", "--lengths", "8,16"], "measure nothing: leave --lengths out"),
        (["--lengths", "64,32"], "strictly increasing"),
        (["--lengths", "64"], "two or more lengths, got 64"),
        (["--lengths=--64"], "lengths must be whole numbers"),
        (["--rounds", "0"], "rounds must be at least 1"),
    ],
)
def test_a_mistaken_request_is_answered_in_one_line(
    arguments, reason, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(["report", LAYER, *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("attncost: ")
    assert reason in line
    assert not list(tmp_path.glob("attncost-run-*")), "nothing was measured for nothing"


def test_a_model_that_needs_code_of_its_own_is_refused(tmp_path, capsys):
    settings = {"model_type": "mine", "auto_map": {"AutoModel": "mine.Mine"}}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    assert main([str(tmp_path)]) == 2
    assert "needs code of its own (AutoModel), which is never run" in capsys.readouterr().err
    (tmp_path / "config.json").unlink()
    assert main([str(tmp_path)]) == 2
    assert "has no config.json" in capsys.readouterr().err


MADE = """
import torch
from torch import nn


class Block(nn.Module):
    d_model = 16

    def __init__(self):
        super().__init__()
        self.attend = nn.MultiheadAttention(16, 2, batch_first=True)
        self.up = nn.Linear(16, 32)

    def forward(self, x):
        return self.up(x + self.attend(x, x, x, need_weights=False)[0])


def block():
    return Block()


def fixed():
    return Block(), torch.rand(1, 10, 16)
"""
# By hand: q, k, v and output, scores and weighted sum, up.
COSTS = {n: (2 * 4 * n * 16 * 16 + 2 * n * 16 * 32, 2 * 2 * n * n * 16) for n in (8, 10, 32)}


@pytest.fixture
def made(tmp_path, monkeypatch):
    (tmp_path / "report_of_a_function.py").write_text(MADE)
    monkeypatch.chdir(tmp_path)
    return "report_of_a_function"


def test_what_a_function_makes_is_counted_where_no_formula_says_what_it_costs(made, capsys):
    assert main(["report", f"{made}:fixed", *ALONE, "-o", "page.html", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (finding,) = found["findings"]
    assert finding["values"]["flops"] == sum(COSTS[10])
    assert finding["command"] == f"attncost count {made}:fixed"
    assert found["memory"]["one forward pass"]["peak"] > 0
    assert "no formula stands behind these numbers" in Path("page.html").read_text()
    assert main(["report", f"{made}:fixed", "--batch", "8"]) == 2
    assert "leave --batch out" in capsys.readouterr().err


def test_what_a_function_makes_is_measured_if_it_takes_a_length(made, capsys):
    how = ["--lengths", "8,32", "--rounds", "2", "--brief", *ALONE]
    assert main(["report", f"{made}:block", *how, "-o", "page.md", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {cell["length"] for cell in found["measured"]} == {8, 32}
    (counts,) = [one for one in found["tables"] if one["title"].startswith("FLOPs of")]
    for length, core, linear, _ in counts["rows"]:
        assert core == 2 * 2 * length**2 * 16
        assert linear == 2 * 4 * length * 16 * 16 + 2 * length * 16 * 32


@pytest.mark.parametrize("suffix", ["md", "txt", "json"])
def test_the_form_follows_from_the_name_of_the_file(suffix, tmp_path):
    file = tmp_path / f"report.{suffix}"
    assert main(["report", LAYER, "--no-measure", *ALONE, "-o", str(file)]) == 0
    assert "half from 32." in file.read_text()
    assert f"report.{suffix}" not in file.read_text(), "where it lies is no part of it"
