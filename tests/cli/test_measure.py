import json
import os
import pty
import shlex
import signal
import subprocess
import sys
from time import monotonic, sleep

import pytest
import transformers

from attncost.cli import main
from attncost.measure.store.store import read
from attncost.mechanisms.spelling import runnable

LAYER = "layer:d_model=16,heads=2"
TINY = [LAYER, "--lengths", "8,16,32,64", "--rounds", "2"]


def measured(arguments, capsys):
    assert main(["measure", *arguments]) == 0
    return capsys.readouterr()


def test_it_measures_everything_that_is_found_and_prints_a_table_for_each(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    printed = measured([LAYER, "--lengths", "8,16", "--rounds", "2", "-o", "run"], capsys)
    found = ("naive", *runnable())
    subjects = [f"{name}, {qkv} qkv" for name in found for qkv in ("separate", "fused")]
    assert [line for line in printed.out.splitlines() if line.endswith(" qkv")] == subjects
    assert max(map(len, printed.out.splitlines())) <= 80
    assert printed.err == "", "no progress bar where there is no terminal"
    assert printed.out.splitlines()[-1] == "Next: attncost fit run"
    environment, samples = read(tmp_path / "run")
    assert environment["clock"] == "process CPU time"
    assert {one.subject for one in samples} == set(subjects)
    assert len([one for one in samples if not one.warmup]) == len(subjects) * 2 * 2


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
    wishes = ["--budget", "0.001", "--attention", "full", "--qkv", "fused"]
    printed = measured([*TINY[:-1], "9", *wishes, "-o", str(tmp_path / "run")], capsys)
    said = " ".join(printed.out.split())
    assert "2 of 9 rounds: the budget of 0.001 s was spent; --budget allows more." in said
    assert "full, fused qkv at 16 (budget): a call would take" in said


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
        (["--qkv", "fused,fused"], "--qkv must be names that differ, got fused twice or more"),
        (["--attention", "full,causal,full"], "--attention must be names that differ, got full"),
        (["--kernel", "sdpa,sdpa"], "--kernel must be names that differ, got sdpa"),
        (["--lengths", "8,99999999999"], "at most 16,777,216, got 8,99999999999"),
        (["--rounds", "0"], "rounds must be at least 1"),
        (["--budget", "-1"], "--budget must be a positive time such as 90s, 2m or 1h, got '-1'"),
        (["--budget", "0s"], "got '0s'"),
        (["--budget", "2 days"], "got '2 days'"),
        (["--enough", "inf"], "such as 0.1, got inf"),
        (["--enough", "0"], "enough must be a positive width of an interval, such as 0.1, got 0"),
        (["--batch", "1,x"], "--batch must be whole numbers, as in 1,4, got 'x'"),
        (["--batch", "0"], "batch must lie between 1 and"),
        (["--batch", "4,4"], "batches must be one or more that differ, got 4,4"),
        (["--threads", "0"], "threads must lie between 1 and"),
        (["--threads", "99999"], "threads must lie between 1 and 1,024, got 99999"),
        (["--dtype", "float33"], "did you mean 'float32'"),
        (["--mode", "trainin"], "did you mean 'training'"),
        (["--kernel", "sdpaa"], "did you mean 'sdpa'"),
        (["--memory", "4GiB"], "--memory limits processes that cells have to themselves: add"),
        (["--deadline", "5s"], "--deadline limits processes"),
        (["--isolate", "--memory", "4 parsecs"], "memory must be a positive size"),
        (["--isolate", "--memory", "foo"], "must be a size with its unit, such as 4GiB or 500MB"),
        (["--isolate", "--deadline", "soon"], "--deadline must be a positive time"),
        (["--isolate", "--batch", "1,2,3,4,5"], "at most 32, got"),
        (["--across-environments"], "add --resume RUN"),
        (["--resume", "taken"], "--resume takes everything from the run: leave MODEL out"),
        (["--device", "abacus"], "no device is called 'abacus'"),
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


# What a shell starts in the background ignores Ctrl-C, and so would all that it starts.
COMMAND = f"""
import signal
import torch
signal.signal(signal.SIGINT, signal.default_int_handler)
torch.set_num_threads(1)
from attncost.cli import main
arguments = "measure {LAYER} --attention full --lengths 8,16 --rounds 1000000 --enough 1e-9 -o run"
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
    assert errors.splitlines() == [
        f"attncost: interrupted; {kept} samples are kept in run, and attncost measure --resume run "
        "goes on."
    ]


def test_cells_are_the_product_of_what_was_asked_for_and_each_series_has_a_table(tmp_path, capsys):
    wishes = ["--attention", "causal", "--qkv", "fused", "--lengths", "8,16", "--rounds", "2"]
    axes = ["--batch", "1,2", "--mode", "forward,training,decode", "--dtype", "float32,bfloat16"]
    printed = measured([LAYER, *wishes, *axes, "-o", str(tmp_path / "run")], capsys)
    environment, samples = read(tmp_path / "run")
    cells = {(one.length, one.batch, one.mode, one.dtype) for one in samples if not one.warmup}
    assert cells == {
        (n, b, mode, dtype)
        for n in (8, 16)
        for b in (1, 2)
        for mode in ("forward", "training", "decode")
        for dtype in ("float32", "bfloat16")
    }
    assert len([one for one in samples if not one.warmup]) == 2 * len(cells)
    lines = printed.out.splitlines()
    assert len([line for line in lines if line.startswith("causal, fused qkv")]) == 12
    assert max(map(len, lines)) <= 80
    assert environment["plan"]["modes"] == ["forward", "training", "decode"]


def test_several_threads_are_timed_on_the_wall_all_of_the_run(tmp_path, capsys):
    wishes = ["--attention", "full", "--qkv", "fused", "--lengths", "8,16", "--rounds", "2"]
    measured([LAYER, *wishes, "--threads", "1,2", "-o", str(tmp_path / "run")], capsys)
    environment, samples = read(tmp_path / "run")
    assert environment["clock"] == "wall time"
    assert {one.threads for one in samples} == {1, 2}
    assert all(one.seconds == pytest.approx(one.wall_seconds, rel=0.05) for one in samples)


def test_what_cannot_run_is_a_row_and_all_else_is_measured(tmp_path, capsys):
    wishes = ["--attention", "full,causal", "--qkv", "fused", "--lengths", "8,16", "--rounds", "2"]
    printed = measured([LAYER, *wishes, "--mode", "decode", "-o", str(tmp_path / "run")], capsys)
    assert {one.subject for one in read(tmp_path / "run")[1]} == {"causal, fused qkv"}
    assert (
        "full, fused qkv, decode at 8 (unsupported): Full() reads keys after the query"
        in " ".join(printed.out.split())
    )
    assert main(["measure", LAYER, "--attention", "full", "--mode", "decode"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("attncost: Full() reads keys after the query")


def test_what_ended_it_and_which_clock_timed_it_are_said(tmp_path, capsys):
    wishes = ["--attention", "full", "--qkv", "fused", "--lengths", "8,16"]
    printed = measured(
        [LAYER, *wishes, "--enough", "1000", "--json", "-o", str(tmp_path / "run")], capsys
    )
    found = json.loads(printed.out)
    assert (found["outcome"]["rounds"], found["outcome"]["ended"]) == (6, "enough")
    assert 0 < found["outcome"]["width"] < 1000
    printed = measured([LAYER, *wishes, "--rounds", "2", "-o", str(tmp_path / "two")], capsys)
    said = " ".join(printed.out.split())
    assert "The clock is process CPU time: with one thread it leaves out waiting for a core" in said
    assert "All 2 rounds were taken; --rounds allows more." in said


def test_what_the_lengths_of_a_model_cannot_show_is_said_where_nobody_named_them(tmp_path, capsys):
    sizes = {"hidden_size": 16, "intermediate_size": 24, "max_position_embeddings": 16}
    layers = {"num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 50}
    model, run = tmp_path / "model", tmp_path / "run"
    transformers.BertModel(transformers.BertConfig(**sizes, **layers)).save_pretrained(model)
    wishes = [str(model), "--attention", "sdpa", "--rounds", "1"]
    printed = measured([*wishes, "-o", str(run)], capsys)
    note = "Lengths end at 16 tokens and by FLOPs attention takes over at "
    assert note in " ".join(printed.out.split())
    page = ["-o", str(tmp_path / "page.html"), "--brief", "--beside", "none", "--json"]
    assert main(["report", str(model), "--run", str(run), *page]) == 0
    assert note in capsys.readouterr().out
    printed = measured([*wishes, "--lengths", "8,16", "-o", str(tmp_path / "two")], capsys)
    assert note not in " ".join(printed.out.split())


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
