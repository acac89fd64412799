import json
import random
import resource

import pytest

from attncost.cli import main
from attncost.measure.store.store import read

LAYER = "layer:d_model=16,heads=2"
TINY = "--attention full,causal --qkv fused --lengths 8,16 --mode forward,decode --rounds 4"
PLAIN = "--attention full --qkv fused --lengths 8,16 --rounds 9 --enough 1e-9"


@pytest.fixture
def run(tmp_path, capsys):
    path = tmp_path / "run"
    assert main(["measure", LAYER, *TINY.split(), "-o", str(path), "--json"]) == 0
    capsys.readouterr()
    return path


def visits(path):
    return [
        (one.round, one.subject, one.length, one.mode) for one in read(path)[1] if not one.warmup
    ]


def test_a_run_cut_off_anywhere_is_gone_on_with_to_the_same_cells(run, tmp_path, capsys):
    chance, whole = random.Random(0), (run / "samples.jsonl").read_bytes()
    assert len(visits(run)) == 3 * 2 * 4
    first = whole.index(b"\n") + 1
    for cut in (first, *(chance.randrange(first, len(whole)) for _ in range(3)), len(whole)):
        broken = tmp_path / str(cut)
        broken.mkdir()
        (broken / "samples.jsonl").write_bytes(whole[:cut])
        assert main(["measure", "--resume", str(broken), "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert visits(broken) == visits(run)
        assert found["outcome"]["ended"] == "rounds"
        skipped = [note for note in found["notes"] if "reads keys after the query" in note]
        assert len(skipped) == 2
        assert (broken / "samples.jsonl").read_bytes().startswith(whole[:cut])


def test_another_environment_is_refused_unless_asked_for(run, capsys):
    file = run / "samples.jsonl"
    text = file.read_text().splitlines(keepends=True)
    first = json.loads(text[0])
    text[0] = json.dumps({**first, "torch": "1.0.0"}) + "\n"
    file.write_text("".join(text[:-3]))
    before = file.read_bytes()
    assert main(["measure", "--resume", str(run)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "was begun in another environment: PyTorch: 1.0.0 and 2." in line
    assert "--across-environments" in line
    assert file.read_bytes() == before
    assert main(["measure", "--resume", str(run), "--across-environments"]) == 0
    assert len(visits(run)) == 3 * 2 * 4


def test_a_resumed_run_takes_no_other_option(run, capsys):
    for option in (["--rounds", "9"], ["--isolate"], ["--budget", "9s"], ["-o", "there"]):
        assert main(["measure", "--resume", str(run), *option]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        typed = "--output" if option[0] == "-o" else option[0]
        assert line.endswith(f"--resume takes everything from the run: leave {typed} out.")


def test_what_is_no_run_cannot_be_gone_on_with(tmp_path, capsys):
    assert main(["measure", "--resume", str(tmp_path)]) == 2
    assert "holds no samples.jsonl" in capsys.readouterr().err
    (tmp_path / "samples.jsonl").write_text('{"schema": "attncost.samples/2"}\n')
    assert main(["measure", "--resume", str(tmp_path)]) == 2
    assert "its first row does not say command, clock" in capsys.readouterr().err


def test_a_full_disk_is_one_line_and_what_was_measured_can_be_gone_on_with(tmp_path, capsys):
    path, before = tmp_path / "run", resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (9000, before[1]))
    try:
        assert main(["measure", LAYER, *PLAIN.split(), "-o", str(path)]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    (line,) = capsys.readouterr().err.splitlines()
    assert "takes no further row (File too large)" in line
    assert len(read(path)[1]) > 0
    assert main(["measure", "--resume", str(path)]) == 0
    assert len(visits(path)) == 2 * 9


def test_a_finished_run_is_said_to_be_and_printed_and_nothing_is_added(run, capsys):
    before = (run / "samples.jsonl").read_bytes()
    for path in (run, run / "samples.jsonl"):
        assert main(["measure", "--resume", str(path), "--json"]) == 0
        printed = capsys.readouterr()
        found = json.loads(printed.out)
        assert (found["run"], found["outcome"]["ended"]) == (str(run), "rounds")
        assert len(found["outcome"]["skipped"]) == len(found["notes"]) == 2
        assert len(found["medians"]) == 3 * 2
        assert printed.err == f"attncost: {run} is finished: nothing is measured.\n"
    assert (run / "samples.jsonl").read_bytes() == before


def test_the_file_of_a_run_that_was_stopped_is_gone_on_with(run):
    file = run / "samples.jsonl"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-3]))
    assert main(["measure", "--resume", str(file)]) == 0
    assert len(visits(run)) == 3 * 2 * 4


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"command": 7}, "the command in its first row must be a text, got 7"),
        ({"command": None}, "the command in its first row must be a text, got None"),
        ({"named": 7}, "named must be an object of JSON, got 7"),
        ({"plan": {"rounds": 3.5}}, "plan.lengths must be a list of whole numbers, got none"),
    ],
)
def test_a_first_row_that_was_edited_is_one_line(change, reason, run, capsys):
    file = run / "samples.jsonl"
    first, rest = file.read_text().split("\n", 1)
    file.write_text(f"{json.dumps({**json.loads(first), **change})}\n{rest}")
    before = file.read_bytes()
    assert main(["measure", "--resume", str(run)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"attncost: {run}: ")
    assert reason in line
    assert file.read_bytes() == before


def test_a_first_row_without_its_command_is_one_line(run, capsys):
    file = run / "samples.jsonl"
    first, rest = file.read_text().split("\n", 1)
    left = {name: value for name, value in json.loads(first).items() if name != "command"}
    file.write_text(f"{json.dumps(left)}\n{rest}")
    assert main(["measure", "--resume", str(run)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "its first row does not say command, so it cannot be gone on with" in line


VANISHING = """
import shutil

from torch import nn


class Vanishing(nn.Linear):
    d_model = 8

    def forward(self, x):
        if not x.is_meta:
            shutil.rmtree("run", ignore_errors=True)
        return super().forward(x)


def make():
    return Vanishing(8, 8)
"""


def test_a_folder_that_vanishes_is_one_line(tmp_path, capsys, monkeypatch):
    (tmp_path / "vanishing.py").write_text(VANISHING)
    monkeypatch.chdir(tmp_path)
    assert main(["measure", "vanishing:make", "--lengths", "8,16", "-o", "run"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "takes no further row (No such file or directory)" in line


FACTORY = """
import os

import torch
from torch import nn


class Ill(nn.Module):
    def __init__(self):
        super().__init__()
        self.d_model = 8
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        n = x.shape[1]
        # Whoever counts or plans it does so without values, and lives.
        if type(x) is torch.Tensor and not x.is_meta:
            if n == 16:
                torch.empty(1 << 29)
        return self.linear(x)


def ill():
    return Ill()


class Abort(Ill):
    def forward(self, x):
        os.abort()


def abort(length=1, batch=1):
    return Abort(), torch.zeros(batch, length, 8)


class Picky(Ill):
    def forward(self, x):
        if type(x) is torch.Tensor and not x.is_meta and x.shape[1] == 16:
            raise ValueError("not 16")
        return self.linear(x)


def picky(length=1, batch=1):
    return Picky(), torch.zeros(batch, length, 8)
"""


def test_in_a_process_of_its_own_a_lack_of_memory_is_a_row(tmp_path, capsys, monkeypatch):
    (tmp_path / "faulty.py").write_text(FACTORY)
    monkeypatch.chdir(tmp_path)
    options = "--lengths 8,16,64 --rounds 2 --isolate --memory 1GiB --deadline 60s -o run"
    assert main(["measure", "faulty:ill", *options.split()]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "at 16 (memory): out of memory: can't allocate memory" in said
    assert {one.length for one in read(tmp_path / "run")[1] if not one.warmup} == {8, 64}


def test_a_call_that_aborts_ends_no_command_that_isolates_it(tmp_path, capsys, monkeypatch):
    (tmp_path / "faulty.py").write_text(FACTORY)
    monkeypatch.chdir(tmp_path)
    assert main(["measure", "faulty:abort", "--lengths", "16", "--isolate", "-o", "run"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "faulty:abort at 16 (crash): its process was killed by SIGABRT." in said
    assert "No cell could run." in said


def test_what_a_function_raises_at_one_length_is_a_row(tmp_path, capsys, monkeypatch):
    (tmp_path / "faulty.py").write_text(FACTORY)
    monkeypatch.chdir(tmp_path)
    wishes = ["--lengths", "8,16,32", "--rounds", "2", "-o", "run"]
    assert main(["measure", "faulty:picky", *wishes]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "faulty:picky at 16 (crash): ValueError: not 16" in said
    assert {one.length for one in read(tmp_path / "run")[1] if not one.warmup} == {8, 32}
