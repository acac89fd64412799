import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
from tests.measure.store.rows import ENVIRONMENT, SAMPLE

from attncost import ShapeError, StorageError
from attncost.measure.store.reading import rows
from attncost.measure.store.sample import Sample, Skipped
from attncost.measure.store.store import Run, read

OLD = Path(__file__).parents[2] / "data" / "run-1"


@pytest.fixture
def run(tmp_path):
    """A run of one sample."""
    run = Run.create(tmp_path / "run", ENVIRONMENT)
    run.append(SAMPLE)
    return run


def written(run, *lines):
    file = run.path / "samples.jsonl"
    file.write_text(file.read_text() + "".join(f"{line}\n" for line in lines))
    return file


def test_a_last_line_that_was_cut_off_is_left_out_and_noted(run):
    run.append(SAMPLE)
    file = run.path / "samples.jsonl"
    whole = file.read_bytes()
    for cut in (2, 40, 200):
        file.write_bytes(whole[:-cut])
        environment, samples = read(run.path)
        assert len(samples) == 1
        assert environment["notes"] == ["line 3 of samples.jsonl was cut off and is left out."]
    file.write_bytes(whole[:-1])
    assert len(read(run.path)[1]) == 2, "only the end of the line is missing"


def test_lines_that_were_cut_off_before_a_process_went_on_are_left_out_and_noted(run):
    gone_on = json.dumps({"kind": "resumed", "threads": 2})
    written(run, '{"kind": "sam', gone_on, json.dumps(SAMPLE), "\x00\x00", '{"kind"', gone_on)
    found = rows(run.path)
    assert len(found.samples) == 2
    assert [note for note in found.notes if "was cut off" in note] == [
        f"line {number} of samples.jsonl was cut off and is left out." for number in (3, 6, 7)
    ]
    assert found.notes[1] == "from sample 2 on: the number of threads: 1 and 2."
    assert [(one.environment["threads"], one.samples) for one in found.resumed] == [(2, 1), (2, 2)]
    parts = [(where["threads"], len(samples)) for where, samples in found.parts]
    assert parts == [(1, 1), (2, 1), (2, 0)]


def test_a_cell_that_was_skipped_is_a_note_and_no_sample(run):
    reason = "out of memory"
    run.append({"kind": "skipped", "subject": "naive", "length": 4096, "reason": reason})
    cell = {"kind": "skipped", "subject": "full", "length": 8, "reason": "too slow", "batch": 4}
    run.append({**cell, "labels": {"attention": "full"}, "mode": "training"})
    found = rows(run.path)
    first = Skipped(subject="naive", length=4096, reason=reason)
    assert found.skipped[0] == first
    assert found.skipped[1] == Skipped(
        subject="full",
        length=8,
        reason="too slow",
        labels={"attention": "full"},
        batch=4,
        mode="training",
    )
    assert replace(first, threads=2) not in found.skipped
    assert found.notes == (
        "naive at 4,096: out of memory",
        "full, batch 4, training at 8: too slow",
    )
    environment, samples = read(run.path)
    assert len(samples) == 1
    assert environment["notes"] == list(found.notes)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "JSON"),
        (10_000 * "[", "JSON"),
        ("[1]", "a row of kind sample, skipped or resumed"),
        ('{"kind": "guess"}', "a row of kind sample, skipped or resumed"),
        ('{"kind": "skipped", "subject": "full"}', "a skipped with length, got None"),
        *(
            (json.dumps({**SAMPLE, name: value}), f"a sample with {name}, got {value!r}")
            for name, value in [
                ("seconds", -1),
                ("seconds", "fast"),
                ("seconds", float("nan")),
                ("seconds", float("inf")),
                ("seconds", True),
                ("length", 1.5),
                ("length", True),
                ("warmup", 0),
                ("labels", "full"),
                ("labels", {"attention": 1}),
                ("subject", {}),
                ("subject", None),
                ("subject", "half \ud800"),
                ("labels", {"half \udfff": "full"}),
            ]
        ),
    ],
)
def test_any_other_line_is_refused_by_its_number(line, reason, run):
    file = written(run, line, json.dumps(SAMPLE))
    with pytest.raises(ShapeError) as error:
        read(run.path)
    assert str(error.value) == f"{file}, line 3: must be {reason}."


@pytest.mark.parametrize("name", ["repeats", "seconds", "core_flops"])
def test_a_number_beyond_every_float_is_refused_and_shown_in_part(name, run):
    written(run, json.dumps({**SAMPLE, name: 10**400}))
    with pytest.raises(ShapeError, match=f"line 3: must be a sample with {name}, got 10{{59}}[.]$"):
        read(run.path)


@pytest.mark.parametrize("name", [one.name for one in fields(Sample)])
def test_a_row_of_today_has_every_field(name, run):
    written(run, json.dumps({key: value for key, value in SAMPLE.items() if key != name}))
    with pytest.raises(ShapeError, match=f"line 3: must be a sample with {name}, got None"):
        read(run.path)


def test_a_run_of_the_first_schema_is_read_with_what_was_so_then():
    environment, samples = read(OLD)
    assert environment["schema"] == "attncost.samples/1"
    assert len(samples) == 59
    assert {one.subject for one in samples} == {"naive, fused qkv", "full, fused qkv"}
    assert {(one.threads, one.mode, one.device) for one in samples} == {(1, "forward", "cpu")}
    first = json.loads((OLD / "samples.jsonl").read_text().splitlines()[1])
    assert all(getattr(samples[0], name) == first[name] for name in first if name != "kind")


@pytest.mark.parametrize("content", ["", "{", '{"schema": "other/1"}\n', "length,milliseconds\n"])
def test_a_file_without_an_environment_is_no_run(content, tmp_path):
    (tmp_path / "samples.jsonl").write_text(content)
    with pytest.raises(ShapeError, match="line 1: must be the environment, with the schema"):
        read(tmp_path)


def test_a_later_schema_is_refused_with_what_to_do(tmp_path):
    (tmp_path / "samples.jsonl").write_text('{"schema": "attncost.samples/12"}\n')
    with pytest.raises(ShapeError, match=r"schema attncost\.samples/12.*install the attncost that"):
        read(tmp_path)


def test_a_folder_without_samples_is_no_run(tmp_path):
    with pytest.raises(ShapeError, match=r"holds no samples\.jsonl: name a folder that"):
        read(tmp_path)


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file nobody can read")
def test_a_run_that_cannot_be_read_is_said_in_one_line(run):
    file = run.path / "samples.jsonl"
    file.unlink()
    file.symlink_to("/proc/self/mem")
    with pytest.raises(
        StorageError, match=r"samples\.jsonl cannot be read \(.*\): name a run that"
    ):
        read(run.path)
