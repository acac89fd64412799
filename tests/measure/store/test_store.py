import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.measure.store.rows import ENVIRONMENT, SAMPLE

from attncost import AttnCostError, ShapeError, StorageError
from attncost.measure.store.reading import rows
from attncost.measure.store.store import Run, read

OLD = Path(__file__).parents[2] / "data" / "run-1"
# Starts a run in this folder and says so at every row, for as long as it is let.
WRITER = f"""
import sys
from pathlib import Path
from attncost.measure.store.store import Run
run, count = Run.create(Path("run"), {ENVIRONMENT!r}), 0
while True:
    run.append({{**{SAMPLE!r}, "round": count}})
    count += 1
    print(count, flush=True)
"""


def test_what_was_appended_is_read_back(tmp_path):
    run = Run.create(tmp_path / "deep" / "run", ENVIRONMENT)
    run.append(SAMPLE)
    run.append({**SAMPLE, "round": 4, "added_later": "is no trouble"})
    environment, samples = read(run.path)
    assert environment == {
        "schema": "attncost.samples/2",
        "kind": "environment",
        **ENVIRONMENT,
        "notes": [],
    }
    assert [one.round for one in samples] == [3, 4]
    for name, value in SAMPLE.items():
        if name != "kind":
            assert getattr(samples[0], name) == value


def test_each_row_is_one_line_of_json_and_is_on_disk_at_once(tmp_path):
    run = Run.create(tmp_path, ENVIRONMENT)
    for count in range(1, 4):
        lines = (tmp_path / "samples.jsonl").read_text().splitlines()
        assert len(lines) == count
        run.append(SAMPLE)
    assert [json.loads(line)["kind"] for line in lines] == ["environment", "sample", "sample"]


def test_a_value_that_json_has_not_is_refused_before_anything_is_written(tmp_path):
    run = Run.create(tmp_path, ENVIRONMENT)
    with pytest.raises(ValueError, match="not JSON compliant"):
        run.append({**SAMPLE, "seconds": float("nan")})
    assert read(tmp_path)[1] == []


def test_kill_9_loses_no_row_that_was_said_to_be_written(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", WRITER], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        while (line := process.stdout.readline()) != "200\n":
            assert line
        process.send_signal(signal.SIGKILL)
        said = [200, *map(int, process.stdout.read().split("\n")[:-1])]
    assert process.returncode == -signal.SIGKILL
    _, samples = read(tmp_path / "run")
    assert [one.round for one in samples] == list(range(len(samples)))
    assert len(samples) >= max(said)
    run = Run.reopen(tmp_path / "run")
    run.append({"kind": "resumed", **ENVIRONMENT})
    run.append(SAMPLE)
    assert len(read(run.path)[1]) == len(samples) + 1


@pytest.mark.parametrize("cut", [0, 1, 2, 100])
def test_a_run_that_is_reopened_goes_on_after_what_was_cut_off(cut, tmp_path):
    run = Run.create(tmp_path, ENVIRONMENT)
    run.append(SAMPLE)
    run.append({**SAMPLE, "round": 4})
    file = tmp_path / "samples.jsonl"
    left = file.read_bytes()[: -cut or None]
    file.write_bytes(left)
    again = Run.reopen(tmp_path)
    # It may be killed before it writes a row, and be reopened once more.
    again = Run.reopen(tmp_path)
    again.append({"kind": "resumed", "threads": 1, "clock": "another"})
    again.append({**SAMPLE, "round": 5})
    assert file.read_bytes().startswith(left)
    found = rows(tmp_path)
    assert [one.round for one in found.samples] == ([3, 4, 5] if cut < 2 else [3, 5])
    assert [one.environment["clock"] for one in found.resumed] == ["another"]
    lost = ("line 3 of samples.jsonl was cut off and is left out.",)
    assert found.notes[:-1] == (() if cut < 2 else lost)
    assert found.notes[-1].endswith(" on: the clock: process CPU time and another.")


def test_a_run_of_an_older_schema_is_not_gone_on_with(tmp_path):
    file = tmp_path / "samples.jsonl"
    file.write_bytes((OLD / "samples.jsonl").read_bytes())
    with pytest.raises(ShapeError, match=r"is of schema attncost\.samples/1.*into a new folder"):
        Run.reopen(tmp_path)
    assert file.read_bytes() == (OLD / "samples.jsonl").read_bytes()


def test_what_is_no_run_is_not_gone_on_with(tmp_path):
    with pytest.raises(ShapeError, match=r"holds no samples\.jsonl"):
        Run.reopen(tmp_path / "nowhere")
    Run.create(tmp_path / "run", ENVIRONMENT).append({**SAMPLE, "seconds": "fast"})
    with pytest.raises(ShapeError, match="line 2: must be a sample with seconds"):
        Run.reopen(tmp_path / "run")


def test_a_run_is_never_overwritten(tmp_path):
    Run.create(tmp_path / "run", ENVIRONMENT)
    (tmp_path / "file").write_text("mine")
    for taken in ("run", "file"):
        with pytest.raises(AttnCostError, match=f"{taken} exists already: choose another name"):
            Run.create(tmp_path / taken, ENVIRONMENT)


def test_a_folder_that_cannot_be_made_is_said_in_one_line(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StorageError, match=r"cannot be written \(Not a.*: name a folder that can"):
        Run.create(tmp_path / "file" / "run", ENVIRONMENT)


@pytest.mark.parametrize("gone", ["file", "folder"])
def test_a_run_that_vanishes_is_not_begun_anew(gone, tmp_path):
    run = Run.create(tmp_path / "run", ENVIRONMENT)
    (run.path / "samples.jsonl").unlink()
    if gone == "folder":
        run.path.rmdir()
    with pytest.raises(
        StorageError, match=r"run takes no further row \(No such file.*\): once that"
    ):
        run.append(SAMPLE)
    assert not (run.path / "samples.jsonl").exists()


def test_a_file_that_may_not_be_written_is_said_in_one_line(tmp_path):
    code = f"""
import os
from pathlib import Path
from attncost.measure.store.store import Run
run = Run.create(Path("run"), {ENVIRONMENT!r})
Path("run/samples.jsonl").chmod(0o444)
if os.geteuid() == 0:
    os.setuid(65534)  # nobody: the superuser may write whatever it is
run.append({SAMPLE!r})
"""
    tmp_path.chmod(0o755)
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    said = "StorageError: run takes no further row (Permission denied), 1 rows are kept in it"
    assert said in ended.stderr.splitlines()[-1]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_said_in_one_line(tmp_path):
    run = Run.create(tmp_path, ENVIRONMENT)
    file = tmp_path / "samples.jsonl"
    file.unlink()
    file.symlink_to("/dev/full")
    with pytest.raises(StorageError, match=r"takes no further row \(No space left on device\)"):
        run.append(SAMPLE)


def test_a_row_for_which_there_is_half_the_room_leaves_those_before_it_whole(tmp_path):
    code = WRITER.replace(
        "import sys", "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    (said,) = [line for line in ended.stderr.splitlines() if "StorageError" in line]
    found = rows(tmp_path / "run")
    kept = len(found.samples)
    assert ended.stdout.split() == [str(one) for one in range(1, kept + 1)]
    assert found.notes == ()
    size = (tmp_path / "run" / "samples.jsonl").stat().st_size
    assert 5000 - len(json.dumps(SAMPLE)) - 10 < size <= 5000
    assert said.endswith(
        f"StorageError: run takes no further row (File too large), {kept + 1} rows are kept in it: "
        "once that is mended, attncost measure --resume run goes on."
    )
    Run.reopen(tmp_path / "run").append(SAMPLE)
    assert len(read(tmp_path / "run")[1]) == kept + 1
