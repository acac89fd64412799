import csv
import json
import sys
from pathlib import Path

import pytest
from tests.measure.store.rows import ENVIRONMENT, SAMPLE

from attncost import ShapeError, StorageError, UnsupportedOption
from attncost.measure.store.export import export, table
from attncost.measure.store.reading import rows
from attncost.measure.store.store import Run

OLD = Path(__file__).parents[2] / "data" / "run-1"


@pytest.fixture
def run(tmp_path):
    """A run of two subjects with different labels, gone on with after an update."""
    where = {**ENVIRONMENT, "torch": "2.13.0", "sdpa_backends": ["flash", "math"], "turbo": None}
    run = Run.create(tmp_path / "run", where)
    run.append({**SAMPLE, "subject": 'quoted "name", ü', "warmup": True})
    run.append({"kind": "skipped", "subject": "naive", "length": 4096, "reason": "no memory"})
    settings = {"MALLOC_ARENA_MAX": "1", "OMP_WAIT_POLICY": "active"}
    run.append({"kind": "resumed", **where, "torch": "2.14.0", "settings": settings})
    run.append({**SAMPLE, "labels": {"attention": "window", "width": "64"}, "seconds": 0.1 + 0.2})
    return rows(run.path)


def test_csv_has_one_row_a_sample_and_a_column_for_each_label_and_fact(run, tmp_path):
    file = tmp_path / "samples.csv"
    written = export(run, file)
    assert (written.format, written.rows) == ("csv", 2)
    with file.open(newline="", encoding="utf-8") as text:
        first, second = csv.DictReader(text)
    assert tuple(first) == written.columns
    assert first["subject"] == 'quoted "name", ü'
    labels = ("label_attention", "label_qkv", "label_width")
    assert [first[name] for name in labels] == ["full", "fused", ""]
    assert [second[name] for name in labels] == ["window", "", "64"]
    assert (first["warmup"], second["warmup"]) == ("true", "false")
    assert float(second["seconds"]) == 0.1 + 0.2, "not a digit is lost"
    assert int(second["linear_flops"]) == SAMPLE["linear_flops"]
    assert (first["environment_torch"], second["environment_torch"]) == ("2.13.0", "2.14.0")
    assert first["environment_sdpa_backends"] == "flash math"
    assert first["environment_settings"] == ""
    assert second["environment_settings"] == "MALLOC_ARENA_MAX=1 OMP_WAIT_POLICY=active"
    assert "environment_turbo" not in first, "what nobody knows is no column"


def test_parquet_holds_the_same_with_types_and_the_environment(run, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    export(run, tmp_path / "samples.csv")
    written = export(run, tmp_path / "samples.parquet")
    found = parquet.read_table(written.file)
    assert tuple(found.column_names) == written.columns
    rows_of = found.to_pylist()
    with (tmp_path / "samples.csv").open(newline="", encoding="utf-8") as text:
        for row, words in zip(rows_of, csv.DictReader(text), strict=True):
            shown = {name: "" if row[name] is None else str(row[name]) for name in row}
            assert {**shown, "warmup": shown["warmup"].lower()} == words
    kinds = {name: str(found.schema.field(name).type) for name in ("warmup", "length", "seconds")}
    assert kinds == {"warmup": "bool", "length": "int64", "seconds": "double"}
    assert json.loads(found.schema.metadata[b"attncost"])["torch"] == "2.13.0"


def test_what_the_first_schema_did_not_count_is_empty_and_not_zero(tmp_path):
    export(rows(OLD), tmp_path / "old.csv")
    with (tmp_path / "old.csv").open(newline="") as text:
        table = list(csv.DictReader(text))
    assert len(table) == 59
    assert {row["waited_seconds"] for row in table} == {""}
    assert {row["mode"] for row in table} == {"forward"}


def test_waiting_that_nobody_counts_is_empty_and_not_zero(tmp_path):
    run = Run.create(tmp_path / "run", {**ENVIRONMENT, "waiting_counted": False})
    run.append({**SAMPLE, "waited_seconds": 0.0})
    columns = table(rows(run.path))
    assert (columns["waited_seconds"], columns["switches"]) == ([None], [SAMPLE["switches"]])


def test_a_run_without_samples_is_a_table_without_rows(tmp_path):
    empty = rows(Run.create(tmp_path / "run", ENVIRONMENT).path)
    assert export(empty, tmp_path / "empty.csv").rows == 0
    (header,) = (tmp_path / "empty.csv").read_text().splitlines()
    assert header.startswith("subject,length,batch,")


def test_a_table_that_is_there_is_replaced_only_by_force(run, tmp_path):
    file = tmp_path / "samples.csv"
    file.write_text("mine")
    with pytest.raises(StorageError, match=r"samples\.csv exists already: choose another name, or"):
        export(run, file)
    assert file.read_text() == "mine"
    export(run, file, force=True)
    assert file.read_text().startswith("subject,")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "samples.csv"]


@pytest.mark.parametrize("name", ["samples", "samples.xlsx", ".csv"])
def test_a_format_that_is_not_known_is_refused(name, run, tmp_path):
    with pytest.raises(ShapeError, match=r"must end with \.csv or \.parquet, got"):
        export(run, tmp_path / name)


def test_what_cannot_be_written_is_said_and_leaves_nothing(run, tmp_path):
    with pytest.raises(StorageError, match=r"cannot be written \(No such file"):
        export(run, tmp_path / "nowhere" / "samples.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(StorageError, match=r"folder\.csv cannot be written \(Is a directory\)"):
        export(run, tmp_path / "folder.csv", force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.csv", "run"]


def test_a_number_that_parquet_cannot_hold_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    run = Run.create(tmp_path / "run", ENVIRONMENT)
    run.append({**SAMPLE, "core_flops": 2**64})
    with pytest.raises(ShapeError, match=r"Parquet cannot hold a column .*: name a \.csv"):
        export(rows(run.path), tmp_path / "samples.parquet")
    export(rows(run.path), tmp_path / "samples.csv")
    assert str(2**64) in (tmp_path / "samples.csv").read_text()


def test_half_a_character_in_a_fact_is_written_as_its_number(tmp_path):
    run = Run.create(tmp_path / "run", {**ENVIRONMENT, "processor": "half \ud800"})
    run.append(SAMPLE)
    export(rows(run.path), tmp_path / "samples.csv")
    assert r"half \ud800" in (tmp_path / "samples.csv").read_text()


def test_half_a_character_is_refused_by_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    run = Run.create(tmp_path / "run", {**ENVIRONMENT, "processor": "half \ud800"})
    run.append(SAMPLE)
    with pytest.raises(ShapeError, match=r"Parquet cannot hold a column .*: name a \.csv"):
        export(rows(run.path), tmp_path / "samples.parquet")


def test_without_pyarrow_the_extra_is_named(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UnsupportedOption, match=r"pip install 'attncost\[parquet\]', or name a"):
        export(run, tmp_path / "samples.parquet")
    assert not (tmp_path / "samples.parquet").exists()
