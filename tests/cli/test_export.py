import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.measure.store.rows import ENVIRONMENT, SAMPLE

from attncost.cli import main
from attncost.measure.store.store import Run

OLD = Path(__file__).parents[1] / "data" / "run-1"


def test_a_run_becomes_a_table_and_the_command_says_so(tmp_path, capsys):
    file = tmp_path / "samples.csv"
    assert main(["export", str(OLD), "-o", str(file)]) == 0
    printed = capsys.readouterr()
    with file.open(newline="") as text:
        table = list(csv.DictReader(text))
    assert len(table) == 59
    assert printed.out == f"{file}: 59 samples, {len(table[0])} columns.\n"
    assert printed.err == ""


def test_json_names_its_schema_and_what_was_written(tmp_path, capsys):
    run = Run.create(tmp_path / "run", ENVIRONMENT)
    run.append(SAMPLE)
    run.append({"kind": "skipped", "subject": "naive", "length": 8, "reason": "no memory"})
    wanted = ["export", str(run.path / "samples.jsonl"), "-o", str(tmp_path / "samples.csv")]
    assert main([*wanted, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema"], found["format"], found["rows"]) == ("attncost.export/1", "csv", 1)
    assert found["file"] == str(tmp_path / "samples.csv")
    assert {"subject", "label_attention", "seconds"} <= set(found["columns"])
    assert found["notes"] == ["naive at 8: no memory"]
    assert main([*wanted, "--force"]) == 0
    assert "Note: naive at 8: no memory" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([str(OLD)], "Missing option"),
        ([str(OLD), "-o", "table.xlsx"], "must end with .csv or .parquet, got 'table.xlsx'"),
        ([str(OLD), "-o", "taken.csv"], "taken.csv exists already: choose another name, or"),
        ([str(OLD), "-o", "nowhere/table.csv"], "nowhere/table.csv cannot be written"),
        (["nowhere", "-o", "table.csv"], "nowhere holds no samples.jsonl: name a folder that"),
        (["taken.csv", "-o", "table.csv"], "taken.csv holds no samples.jsonl"),
        (["broken", "-o", "table.csv"], "line 1: must be the environment"),
    ],
)
def test_a_mistaken_request_is_answered_in_one_line_and_leaves_nothing(
    arguments, reason, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken.csv").write_text("mine")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "samples.jsonl").write_text("what is this")
    assert main(["export", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("attncost: ")
    assert reason in line
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken", "taken.csv"]
    assert (tmp_path / "taken.csv").read_text() == "mine"


def test_a_disk_without_room_keeps_what_was_there(tmp_path):
    (tmp_path / "samples.csv").write_text("mine")
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000)); "
        f"from attncost.cli import main; "
        f"raise SystemExit(main(['export', {str(OLD)!r}, '-o', 'samples.csv', '--force']))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    reason = "samples.csv cannot be written (File too large): name a file that can be."
    assert ended.stderr == f"attncost: {reason}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["samples.csv"]
    assert (tmp_path / "samples.csv").read_text() == "mine"


def test_a_table_is_made_without_torch(tmp_path):
    code = (
        "import sys; from attncost.cli import main; "
        f"assert main(['export', {str(OLD)!r}, '-o', {str(tmp_path / 'samples.csv')!r}]) == 0; "
        "assert not {'torch', 'numpy', 'sympy', 'pyarrow'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
