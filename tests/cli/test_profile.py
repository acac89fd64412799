import json
import os
import pty
import shlex
import subprocess
import sys

import pytest
import torch

from attncost.cli import main

LAYER = ["layer:d_model=16,heads=2", "--length", "8", "--rounds", "2"]


def profiled(arguments, capsys):
    assert main(["profile", *arguments]) == 0
    return capsys.readouterr()


def test_it_prints_where_time_goes_in_80_columns_and_nothing_else(capsys):
    printed = profiled([*LAYER, "--training"], capsys)
    lines = printed.out.splitlines()
    assert lines[0].startswith("layer:d_model=16,heads=2 (Attention): one sequence of 8 tokens")
    assert max(map(len, lines)) <= 80
    titles = ("By kind of work", "By module", "By operator", "Repeat it")
    assert [line for line in lines if line in titles] == list(titles)
    assert printed.err == "", "no progress where there is no terminal"


def test_the_command_that_it_shows_repeats_it(capsys):
    printed = profiled([*LAYER, "--training"], capsys)
    again = shlex.split(printed.out.splitlines()[-1])
    assert again[:2] == ["attncost", "profile"]
    assert profiled(again[2:], capsys).out.splitlines()[0] == printed.out.splitlines()[0]


def test_json_adds_up_and_names_its_schema(capsys):
    found = json.loads(profiled([*LAYER, "--batch", "3", "--json"], capsys).out)
    assert (found["schema"], found["length"], found["batch"]) == ("attncost.profile/1", 8, 3)
    assert {one["name"] for one in found["modules"]} == {"", "qkv", "out"}
    parts = sum(one["self_seconds"] for one in found["modules"])
    parts += sum(one["seconds"] for one in found["elsewhere"])
    assert parts == pytest.approx(found["seconds"])
    assert sum(one["share"] for one in found["kinds"]) == pytest.approx(1)
    assert found["overhead"]["figure"] > 0


def test_a_trace_is_written_and_threads_are_put_back(tmp_path, capsys):
    before, path = torch.get_num_threads(), tmp_path / "trace.json"
    printed = profiled([*LAYER, "--threads", "2", "--trace", str(path)], capsys)
    # A long path is cut at the end of a line.
    assert f"Open{path}" in "".join(printed.out.split())
    assert json.loads(path.read_text())["traceEvents"]
    assert torch.get_num_threads() == before
    assert "on cpu with 2 threads" in printed.out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["lama"], "no model, folder or preset is called 'lama'"),
        (["llama-3-8b"], "can be priced but not profiled"),
        (["no_such_module:factory"], "there is no module 'no_such_module' here"),
        ([*LAYER, "--threads", "0"], "--threads must lie between 1 and 1024, got 0"),
        ([*LAYER[:-1], "0"], "rounds must be at least 1, got 0"),
        (
            [*LAYER, "--trace", "no/such/folder.json"],
            "no/such/folder.json cannot be written (No such file",
        ),
        (["layer:d_model=9,heads=2"], "heads"),
    ],
)
def test_a_mistaken_request_is_one_line_and_exit_status_2(arguments, line, capsys):
    assert main(["profile", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert line in printed.err


def test_a_function_that_fails_is_one_line_that_says_where(tmp_path, monkeypatch, capsys):
    (tmp_path / "failing_profile.py").write_text(
        "import torch\n"
        "class Net(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        raise ValueError('not today')\n"
        "def made():\n"
        "    return Net(), torch.zeros(1)\n"
    )
    monkeypatch.chdir(tmp_path)
    assert main(["profile", "failing_profile:made"]) == 2
    assert "raised ValueError in failing_profile.py:4: not today" in capsys.readouterr().err


def test_a_terminal_is_told_that_it_works_and_then_cleaned():
    ours, theirs = pty.openpty()
    run = f"from attncost.cli import main; raise SystemExit(main({['profile', *LAYER]}))"
    finished = subprocess.run(
        [sys.executable, "-c", run], stderr=theirs, stdout=subprocess.PIPE, check=False
    )
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert finished.returncode == 0
    assert shown.startswith(f"profiling {LAYER[0]} ...")
    assert shown.endswith("\r\x1b[K")
