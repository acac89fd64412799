import json
import os
import pty
import shlex
import signal
import subprocess
import sys
from time import monotonic, sleep

import pytest

from attncost.cli import main
from attncost.measure.store.store import read
from attncost.mechanisms.spelling import known

LAYER = "layer:d_model=16,heads=2"
TINY = [LAYER, "--lengths", "8,16,32,64", "--rounds", "2"]


def measured(arguments, capsys):
    assert main(["measure", *arguments]) == 0
    return capsys.readouterr()


def test_it_measures_everything_that_is_found_and_prints_a_table_for_each(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    printed = measured([*TINY, "-o", "run"], capsys)
    found = ("naive", *known())
    subjects = [f"{name}, {qkv} qkv" for name in found for qkv in ("separate", "fused")]
    assert [line for line in printed.out.splitlines() if line.endswith(" qkv")] == subjects
    assert max(map(len, printed.out.splitlines())) <= 80
    assert printed.err == "", "no progress bar where there is no terminal"
    assert printed.out.splitlines()[-1] == "Next: attncost fit run"
    environment, samples = read(tmp_path / "run")
    assert environment["clock"] == "process CPU time"
    assert {one.subject for one in samples} == set(subjects)
    assert len([one for one in samples if not one.warmup]) == len(subjects) * 4 * 2


def test_json_names_its_schema_the_run_and_the_medians(tmp_path, capsys):
    wishes = ["--attention", "naive,window:width=4,ahead=1,full", "--qkv", "fused", "--json"]
    printed = measured([*TINY, *wishes, "-o", str(tmp_path / "run")], capsys)
    found = json.loads(printed.out)
    assert (found["schema"], found["run"]) == ("attncost.measure/1", str(tmp_path / "run"))
    assert [(cell["subject"], cell["length"]) for cell in found["medians"]] == [
        (f"{name}, fused qkv", n)
        for name in ("naive", "window:width=4,ahead=1", "full")
        for n in (8, 16, 32, 64)
    ]
    assert all(cell["low"] <= cell["seconds"] <= cell["high"] for cell in found["medians"])


def test_the_environment_holds_the_command_that_repeats_the_run(tmp_path, capsys):
    wishes = ["--attention", "full", "--qkv", "fused"]
    measured([*TINY, *wishes, "-o", str(tmp_path / "one")], capsys)
    command = shlex.split(read(tmp_path / "one")[0]["command"])
    assert command[:2] == ["attncost", "measure"]
    measured([*command[2:], "-o", str(tmp_path / "two")], capsys)
    first, second = (
        [(one.subject, one.length) for one in read(tmp_path / name)[1] if not one.warmup]
        for name in ("one", "two")
    )
    assert first == second, "the same cells in the same order"


def test_a_run_without_a_name_is_put_here_and_said(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = measured([LAYER, "--lengths", "8", "--rounds", "1", "--attention", "full"], capsys)
    (path,) = tmp_path.iterdir()
    assert path.name.startswith("attncost-run-")
    assert f"Every sample is in {path.name}" in printed.out


def test_a_spent_budget_is_said(tmp_path, capsys):
    wishes = ["--rounds", "9", "--budget", "0.001", "--attention", "full", "--qkv", "fused"]
    printed = measured([*TINY, *wishes, "-o", str(tmp_path / "run")], capsys)
    assert "2 of 9 rounds: the budget of 0.001 s was spent" in printed.out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ["--lengths", "0,8"],
            "strictly increasing, as in 64,128,256, and at most 16,777,216, got 0,8",
        ),
        (["--lengths", "8,8"], "got 8,8"),
        (["--lengths", "16,8"], "got 16,8"),
        (["--lengths", "8,many"], "lengths must be whole numbers, as in 64,128,256, got 'many'"),
        (["--lengths", "8,,16"], "got ''"),
        (["--attention", "windw"], "did you mean 'window'"),
        (["--attention", "window:width=0"], "width must be at least 1"),
        (["--qkv", "fusd"], "did you mean 'fused'"),
        (["--qkv", "fused,fused"], "with names that differ"),
        (["--lengths", "8,99999999999"], "at most 16,777,216, got 8,99999999999"),
        (["--rounds", "0"], "rounds must be at least 1"),
        (["--budget", "-1"], "budget must be a positive number of seconds"),
        (["--device", "abacus"], "device must be cpu or cuda, got 'abacus'"),
        (["-o", "taken"], "taken exists already: choose another name"),
        (["-o", "file/run"], "cannot be written"),
    ],
)
def test_a_mistaken_request_is_answered_in_one_line_and_leaves_nothing(
    arguments, reason, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine").write_text("mine")
    assert main(["measure", LAYER, *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("attncost: ")
    assert reason in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "taken"]


COMMAND = f"""
import torch
torch.set_num_threads(1)
from attncost.cli import main
arguments = "measure {LAYER} --attention full --lengths 8,16 --rounds 1000000 -o run"
raise SystemExit(main(arguments.split()))
"""


def test_ctrl_c_keeps_what_was_measured_and_says_where(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    rows, give_up = tmp_path / "run" / "samples.jsonl", monotonic() + 60
    while not (rows.exists() and '"warmup": false' in rows.read_text()):
        assert monotonic() < give_up
        assert process.poll() is None
        sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    kept = len([one for one in read(tmp_path / "run")[1] if not one.warmup])
    assert errors.splitlines() == [f"attncost: interrupted; {kept} samples are kept in run."]


def test_on_a_terminal_a_bar_says_what_is_done(tmp_path):
    ours, theirs = pty.openpty()
    code = COMMAND.replace("1000000", "3")
    with os.fdopen(ours, "rb", buffering=0) as screen:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "100"},
        )
        os.close(theirs)
        shown = bytearray()
        try:
            while chunk := screen.read(4096):
                shown += chunk
        except OSError:  # Linux says so when the other end is closed.
            pass
        assert process.wait(timeout=60) == 0
    assert "warming up: full, separate qkv at 8" in shown.decode()
    assert " of 3: " in shown.decode()
