import json

import pytest

from attncost import AttnCostError, ShapeError
from attncost.measure.store.store import Run, read

SAMPLE = {
    "kind": "sample",
    "subject": "full, fused qkv",
    "labels": {"attention": "full", "qkv": "fused"},
    "length": 512,
    "batch": 1,
    "dtype": "float32",
    "round": 3,
    "warmup": False,
    "repeats": 4,
    "seconds": 0.0123,
    "wall_seconds": 1,
    "peak_bytes": 12345678,
    "linear_flops": 1073741824,
    "core_flops": 536870912,
}
ENVIRONMENT = {"clock": "process CPU time", "threads": 1}


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


def test_a_last_line_that_was_cut_off_is_left_out_and_noted(tmp_path):
    run = Run.create(tmp_path, ENVIRONMENT)
    run.append(SAMPLE)
    run.append(SAMPLE)
    file = tmp_path / "samples.jsonl"
    whole = file.read_bytes()
    for cut in (2, 40, 200):
        file.write_bytes(whole[:-cut])
        environment, samples = read(tmp_path)
        assert len(samples) == 1
        assert environment["notes"] == ["line 3 of samples.jsonl was cut off and is left out."]
    file.write_bytes(whole[:-1])
    assert len(read(tmp_path)[1]) == 2, "only the end of the line is missing"


def test_a_cell_that_was_skipped_is_a_note_and_no_sample(tmp_path):
    run = Run.create(tmp_path, ENVIRONMENT)
    run.append({"kind": "skipped", "subject": "naive", "length": 4096, "reason": "out of memory"})
    environment, samples = read(tmp_path)
    assert samples == []
    assert environment["notes"] == ["naive at 4096: out of memory"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "line 3: must be JSON"),
        ("[1]", "line 3: must be a row of kind sample or skipped"),
        ('{"kind": "guess"}', "line 3: must be a row of kind sample or skipped"),
        *(
            (json.dumps({**SAMPLE, name: value}), f"line 3: must be a sample with {name}, got")
            for name, value in [
                ("seconds", -1),
                ("seconds", "fast"),
                ("seconds", float("nan")),
                ("seconds", True),
                ("length", 1.5),
                ("warmup", 0),
                ("labels", "full"),
                ("subject", {}),
                ("subject", None),
            ]
        ),
    ],
)
def test_any_other_line_is_refused_by_its_number(line, reason, tmp_path):
    Run.create(tmp_path, ENVIRONMENT).append(SAMPLE)
    file = tmp_path / "samples.jsonl"
    file.write_text(file.read_text() + line + "\n" + json.dumps(SAMPLE) + "\n")
    with pytest.raises(ShapeError) as error:
        read(tmp_path)
    assert str(error.value).startswith(f"{file}, {reason}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", ["", "{", '{"schema": "other/1"}\n', "length,milliseconds\n"])
def test_a_file_without_an_environment_is_no_run(content, tmp_path):
    (tmp_path / "samples.jsonl").write_text(content)
    with pytest.raises(ShapeError, match="line 1: must be"):
        read(tmp_path)


def test_a_folder_without_samples_is_no_run(tmp_path):
    with pytest.raises(ShapeError, match=r"holds no samples\.jsonl: name a folder that"):
        read(tmp_path)


def test_a_run_is_never_overwritten(tmp_path):
    Run.create(tmp_path / "run", ENVIRONMENT)
    (tmp_path / "file").write_text("mine")
    for taken in ("run", "file"):
        with pytest.raises(AttnCostError, match=f"{taken} exists already: choose another name"):
            Run.create(tmp_path / taken, ENVIRONMENT)


def test_what_cannot_be_written_is_said_in_one_line(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(AttnCostError, match=r"cannot be written .*: name a folder that can be"):
        Run.create(tmp_path / "file" / "run", ENVIRONMENT)
    run = Run.create(tmp_path / "run", ENVIRONMENT)
    (run.path / "samples.jsonl").unlink()
    run.path.rmdir()
    with pytest.raises(AttnCostError, match="cannot be written"):
        run.append(SAMPLE)
