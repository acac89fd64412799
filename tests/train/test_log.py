import json
import subprocess
import sys

import pytest

from attncost.core.errors import StorageError
from attncost.train.log import FILE, SCHEMA, Log, held, read

HERE = {"torch": "2.13.0", "threads": 1}


def row(step, loss=1.5):
    return {"step": step, "loss": loss, "rate": 0.1, "gradient_norm": 2.0, "layers": None}


def lines(folder):
    return [json.loads(line) for line in (folder / FILE).read_text().splitlines()]


@pytest.fixture
def written(tmp_path):
    log = Log(tmp_path, {"task": "recall"}, HERE, step=0)
    for step in range(3):
        log.add(row(step))
    return tmp_path


def test_a_log_says_first_of_which_run_it_is_and_then_one_line_a_step(written):
    header, *steps = lines(written)
    assert header == {"schema": SCHEMA, "kind": "environment", "task": "recall", **HERE}
    assert steps == [{"kind": "step", **row(step)} for step in range(3)]
    found = read(written)
    assert (found.header, found.notes) == (header, ())
    assert found.steps == tuple(row(step) for step in range(3))


def test_each_row_is_there_before_the_next_step_begins(tmp_path):
    log = Log(tmp_path, {}, HERE, step=0)
    for step in range(3):
        log.add(row(step))
        assert lines(tmp_path)[-1]["step"] == step


def test_steps_that_are_computed_again_are_not_written_twice(written):
    log = Log(written, {}, HERE, step=1)
    for step in range(1, 5):
        log.add(row(step))
    kinds = [line["kind"] for line in lines(written)]
    assert kinds == ["environment", "step", "step", "step", "resumed", "step", "step"]
    assert lines(written)[4] == {"kind": "resumed", "at": 1, **HERE}
    assert log.notes == read(written).notes == ()
    assert log.steps == read(written).steps == tuple(row(step) for step in range(5))


def test_a_step_that_comes_out_otherwise_is_written_again_and_counts(written):
    log = Log(written, {}, {**HERE, "torch": "2.14.0"}, step=1)
    for step, loss in ((1, 1.5), (2, 1.25), (3, 1.0)):
        log.add(row(step, loss))
    said = (
        "step 2 came out otherwise when it was computed again, and counts so: PyTorch: 2.13.0 and "
        "2.14.0.",
    )
    assert log.notes == read(written).notes == said
    assert [one["loss"] for one in read(written).steps] == [1.5, 1.5, 1.25, 1.0]
    assert [one["loss"] for one in log.steps] == [1.5, 1.5, 1.25, 1.0]
    assert Log(written, {}, HERE, step=4).notes == said


def test_where_nothing_else_differs_the_note_says_so(written):
    log = Log(written, {}, HERE, step=2)
    log.add(row(2, 9.0))
    assert log.notes[0].endswith("counts so: the environment is the same.")


def test_whether_layers_were_looked_at_changes_no_step(written):
    before = (written / FILE).read_bytes()
    log = Log(written, {}, HERE, step=2)
    log.add({**row(2), "layers": [{"largest_logit": 1.0, "entropy": 0.5}]})
    assert log.notes == ()
    assert (written / FILE).read_bytes().startswith(before)
    assert [line["kind"] for line in lines(written)].count("step") == 3


def test_a_log_of_another_run_is_refused_and_stays_as_it_is(written):
    with (written / FILE).open("ab") as file:
        file.write(b'{"kind": "st')
    before = (written / FILE).read_bytes()
    with pytest.raises(StorageError, match="whose task is recall and not copy: name another"):
        Log(written, {"task": "copy"}, HERE, step=0)
    with pytest.raises(StorageError, match="whose model is missing and not Small"):
        Log(written, {"task": "recall", "model": "Small"}, HERE, step=0)
    with pytest.raises(StorageError, match="holds 3 steps"):
        Log(written, {"task": "recall"}, HERE, step=4)
    assert (written / FILE).read_bytes() == before


@pytest.mark.parametrize("torn", [b'{"kind": "st', b'{"kind": "step"}'], ids=["half", "no end"])
def test_a_last_line_without_an_end_is_cut_off(written, torn):
    whole = (written / FILE).read_bytes()
    (written / FILE).write_bytes(whole + torn)
    assert len(read(written).steps) == 3
    assert (written / FILE).read_bytes() == whole + torn  # reading changes nothing
    log = Log(written, {}, HERE, step=3)
    assert (written / FILE).read_bytes() == whole
    log.add(row(3))
    assert [one["step"] for one in read(written).steps] == [0, 1, 2, 3]


@pytest.mark.parametrize("length", [0, 1, 9, 31, 50])
def test_a_log_whose_first_line_was_cut_off_begins_again(tmp_path, length):
    Log(tmp_path, {}, HERE, step=0)
    (tmp_path / FILE).write_bytes((tmp_path / FILE).read_bytes()[:length])
    Log(tmp_path, {}, HERE, step=0).add(row(0))
    assert [line["kind"] for line in lines(tmp_path)] == ["environment", "step"]


def test_going_on_without_a_further_step_writes_nothing(written):
    before = (written / FILE).read_bytes()
    Log(written, {}, HERE, step=3)
    assert (written / FILE).read_bytes() == before


def test_steps_that_a_checkpoint_counts_must_be_there(written):
    with pytest.raises(StorageError, match="holds 3 steps, and the checkpoint beside it 4"):
        Log(written, {}, HERE, step=4)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{}\n", f"line 1: must have the schema {SCHEMA}"),
        (b"[1]\n", "line 1: must be an object of JSON"),
        (b"\xff\n", "line 1: must be an object of JSON"),
        (b"\n", "line 1: must be an object of JSON"),
        (b'{"theirs": 1}', f"line 1: must have the schema {SCHEMA}"),
        (b'{"theirs": 1}\n{"theirs": 2}', f"line 1: must have the schema {SCHEMA}"),
        (b'{"theirs": 1}\nmine\n', f"line 1: must have the schema {SCHEMA}"),
    ],
)
def test_a_file_that_is_no_log_is_refused_and_stays_as_it_is(tmp_path, content, message):
    (tmp_path / FILE).write_bytes(content)
    with pytest.raises(StorageError, match=message):
        read(tmp_path)
    with pytest.raises(StorageError, match=message):
        Log(tmp_path, {}, HERE, step=0)
    assert (tmp_path / FILE).read_bytes() == content


@pytest.mark.parametrize(
    "line", [{"kind": "step", **row(4)}, {"kind": "step", **row(-1)}, {"kind": "note"}, {}]
)
def test_a_line_that_does_not_come_next_is_named(written, line):
    with (written / FILE).open("a") as file:
        file.write(json.dumps(line) + "\n")
    with pytest.raises(StorageError, match=r"line 5: must be step 3, or `resumed`."):
        read(written)


def test_a_folder_without_a_log_is_named(tmp_path):
    with pytest.raises(StorageError, match=r"log.jsonl cannot be read \(No such file"):
        read(tmp_path)


def test_a_folder_that_goes_away_is_named(tmp_path):
    log = Log(tmp_path, {}, HERE, step=0)
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).mkdir()
    with pytest.raises(StorageError, match=r"log.jsonl cannot be written \(Is a directory\)"):
        log.add(row(0))


HOLD = """
import sys
from pathlib import Path
from attncost.train.log import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.slow  # another process imports PyTorch
def test_one_process_holds_a_folder_until_it_ends_or_is_killed(tmp_path):
    folder = tmp_path / "new" / "run"
    command = [sys.executable, "-c", HOLD, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout.readline() == b"held\n"
            with pytest.raises(StorageError, match="is held by another run"), held(folder):
                pass
        finally:
            holder.kill()
    with held(folder):
        pass


def test_a_file_in_the_place_of_a_folder_is_named(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(StorageError, match=r"cannot be written \(File exists\)"),
        held(tmp_path / "file"),
    ):
        pass
