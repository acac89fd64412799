import json
import os
import shlex
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest

from attncost.cli import main
from attncost.train.tasks import names

LITTLE = ["recall:length=6,pairs=2,keys=4,values=2"]
SMALL = ["--d-model", "8", "--layers", "1", "--heads", "1", "--held-out", "16"]
FEW = [*LITTLE, "--attention", "causal,window:width=2", "--seeds", "2", "--steps", "3", *SMALL]


def quality(arguments, capsys):
    assert main(["quality", *arguments]) == 0
    return capsys.readouterr()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return a folder in which everything that `FEW` asks for is trained, and its page."""
    folder = tmp_path_factory.mktemp("quality")
    assert main(["quality", *FEW, "--folder", str(folder), "-o", str(folder / "page.html")]) == 0
    return folder


def test_runs_are_announced_and_finished_ones_are_not_made_again(runs, capsys):
    first = quality([*FEW, "--folder", str(runs)], capsys)
    said = f"4 runs of 3 steps: 2 attentions from 2 seeds, kept in {runs}, where 4 are finished"
    assert said in first.err
    assert "\r" not in first.err, "no progress where there is no terminal"
    again = quality([*FEW, "--folder", str(runs)], capsys)
    assert again == first
    lines = first.out.splitlines()
    assert " ".join(lines[:2]).startswith(f"{LITTLE[0]}: what each attention learns, and what it")
    assert max(map(len, lines)) <= 80


def test_the_command_that_it_shows_asks_for_the_same(runs, capsys):
    shown = json.loads(quality([*FEW, "--folder", str(runs), "--json"], capsys).out)
    for command in (shown["command"], shown["findings"][0]["command"]):
        name, *words = shlex.split(command)
        assert name == "attncost"
        assert main([*words, "--folder", str(runs), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["settings"] == shown["settings"]
        trained = [one["attention"] for one in found["attentions"]]
        assert set(trained) <= {"causal", "window:width=2"}


def test_the_page_shows_the_numbers_of_json(runs, capsys):
    shown = json.loads(quality([*FEW, "--folder", str(runs), "--json"], capsys).out)
    assert shown["schema"] == "attncost.quality/1"
    page = (runs / "page.html").read_text(encoding="utf-8")
    for finding in shown["findings"]:
        assert finding["text"].split(",")[0] in page
    assert f"{100 * shown['chance']:.1f} %" in page


def test_without_attentions_the_usual_ones_of_the_task_are_trained(tmp_path, capsys):
    out = quality(
        [*LITTLE, "--steps", "1", "--seeds", "1", *SMALL, "--folder", str(tmp_path), "--json"],
        capsys,
    ).out
    trained = [one["attention"] for one in json.loads(out)["attentions"]]
    assert trained == ["causal", "window:width=1", "linear:causal=1"]


def test_help_names_every_task(capsys):
    assert main(["quality", "--help"]) == 0
    assert f"a task ({', '.join(names())})" in " ".join(capsys.readouterr().out.split())


def test_one_is_no_plural(tmp_path, capsys):
    one = ["--attention", "causal", "--steps", "1", "--seeds", "1", "--folder", str(tmp_path)]
    said = quality([*LITTLE, *one, *SMALL], capsys).err
    assert "1 run of 1 step: 1 attention from 1 seed, kept in" in said


def test_ctrl_c_says_how_to_go_on(runs, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    long = [*FEW[:4], "1", "--steps", "3000", *SMALL, "--folder", "my runs"]
    begun = Path("my runs") / "causal" / "seed-0" / "log.jsonl"

    def interrupt():
        while not begun.exists():
            time.sleep(0.02)
        os.kill(os.getpid(), 2)

    # A shell that starts the suite in the background has it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    watching = threading.Thread(target=interrupt)
    watching.start()
    assert main(["quality", *long]) == 130
    watching.join()
    signal.signal(signal.SIGINT, before)
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("attncost: interrupted; attncost quality recall:length=6")
    assert "--steps 3000" in line
    assert "--folder 'my runs' goes on with what is in my runs." in line


MODEL = ["layer:d_model=8,heads=2"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["recal"], "no task is called 'recal'; did you mean 'recall'?"),
        (["copying"], "Tasks: bytes, digits, recall, selective_copy."),
        ([""], "a task or a model is compared, got ''; tasks: bytes, digits"),
        (["recall:"], "recall: has no dial after the colon: write recall alone"),
        (["recall:pair=3"], "no parameter of recall is called 'pair'; did you mean 'pairs'?"),
        (["recall:pairs=x"], "must be a whole number"),
        (["recall:pairs=1000"], "length"),
        ([*LITTLE, "--seeds", "0"], "seeds must lie between 1 and 1000, got 0"),
        ([*LITTLE, "--seeds", "x"], "--seeds"),
        ([*LITTLE, "--steps", "0"], "steps must be at least 1, got 0"),
        ([*LITTLE, "--learning-rate", "-1"], "learning_rate must be positive and finite, got -1"),
        ([*LITTLE, "--learning-rate", "nan"], "learning_rate must be positive and finite, got nan"),
        ([*LITTLE, "--heads", "3"], "heads must divide d_model"),
        ([*LITTLE, "--layers", "0"], "layers must be at least 1, got 0"),
        ([*LITTLE, "--held-out", "0"], "held_out must be at least 1, got 0"),
        ([*LITTLE, "--attention", "windw"], "did you mean 'window'?"),
        ([*LITTLE, "--attention", ""], "no pattern or mechanism is called ''"),
        ([*LITTLE, "--attention", "causal,causal"], "got causal twice or more"),
        ([*LITTLE, "--attention", "full"], "take a causal attention, such as causal"),
        ([*LITTLE, "--attention", "bigbird"], "attncost: bigbird:block=64,"),
        ([*LITTLE, "--attention", "nystrom"], "nystrom"),
        ([*LITTLE, "--text", "a.txt"], "is a task, on which models are trained: leave --text out"),
        ([*LITTLE, "--time"], "leave --time out"),
        ([*LITTLE, "-o", "no/such/page.html"], "cannot be written"),
        ([*MODEL, "--seeds", "2"], "is a model, which is not trained: leave --seeds out"),
        ([*MODEL, "--learning-rate", "1"], "leave --learning-rate out"),
        ([*FEW, "--folder", "taken"], "taken cannot hold runs (File exists)"),
        ([*FEW, "--folder", "taken/inner"], "cannot hold runs (Not a directory)"),
        # Where nobody can make a folder, not even the superuser.
        ([*FEW, "--folder", "/proc/runs"], "/proc/runs cannot hold runs ("),
    ],
)
def test_a_mistaken_request_is_one_line_and_exit_status_2(
    arguments, line, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    Path("taken").touch()
    assert main(["quality", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert line in printed.err
    assert list(Path().iterdir()) == [Path("taken")], "nothing is left behind"


def test_runs_of_other_settings_are_refused(runs, capsys):
    other = [word if word != "3" else "4" for word in FEW]
    assert main(["quality", *other, "--folder", str(runs)]) == 2
    assert "steps=3, and steps=4 is asked for: take another folder" in capsys.readouterr().err


def test_after_kill_9_it_goes_on_with_what_is_there(runs, tmp_path, capsys):
    folder = shutil.copytree(runs, tmp_path / "cut")
    # What a kill between the last step and the result leaves behind, and one in a write.
    (folder / "causal" / "seed-1" / "result.json").unlink()
    (folder / "causal" / "seed-1" / ".result.json.99").write_text("{")
    (folder / "times.json").unlink()
    found = json.loads(quality([*FEW, "--folder", str(folder), "--json"], capsys).out)
    whole = json.loads(quality([*FEW, "--folder", str(runs), "--json"], capsys).out)
    ours, theirs = ([run for one in f["attentions"] for run in one["runs"]] for f in (found, whole))
    assert [(run["score"], run["curve"]) for run in ours] == [
        (run["score"], run["curve"]) for run in theirs
    ]
    assert [run["seconds"] is None for run in ours].count(True) == 1
