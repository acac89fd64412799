import json
import subprocess
import sys

import pytest
from benchmarks.memory import Row, promised
from benchmarks.memory_cases import BACKWARD, CASES, FORWARD


def row(**changed):
    given = {
        "case": "naive",
        "way": FORWARD,
        "length": 512,
        "predicted": 1000,
        "exact": True,
        "measured": 1000,
        "seconds": 0.1,
        "peers": {},
    }
    return Row(**given | changed)


@pytest.mark.parametrize(
    ("changed", "kept"),
    [
        ({}, [True, True, True]),
        ({"predicted": 998}, [False, True, True]),
        ({"predicted": 998, "exact": False}, [True, True, True]),
        ({"predicted": 1002, "exact": False}, [True, False, True]),
        ({"seconds": 1.1}, [True, True, False]),
        ({"seconds": 1.1, "case": "2 layers of bert"}, [True, True, True]),
    ],
)
def test_a_promise_is_kept_or_not(changed, kept):
    assert [promise.met for promise in promised([row(), row(**changed)])] == kept


def test_layers_on_fast_paths_have_no_backward_pass():
    assert all(case.ways == (FORWARD,) for case in CASES.values() if case.fast)


def test_a_run_prints_its_tables_and_keeps_its_figures(tmp_path):
    # A process of its own: forks of one in which autograd has run cannot run it again.
    path = tmp_path / "found.json"
    command = [sys.executable, "-m", "benchmarks.memory", "--lengths", "256"]
    ended = subprocess.run(
        [*command, "--only", "naive/MHA, fast path", "--json", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    *tables, promises = ended.stdout.split("\n\n")
    assert [line.split(":")[0] for line in promises.splitlines()][:2] == ["met"] * 2
    assert len(tables[-1].splitlines()) == 3
    rows = json.loads(path.read_text())["rows"]
    assert [(one["case"], one["way"]) for one in rows] == [
        ("naive", FORWARD),
        ("naive", BACKWARD),
        ("MHA, fast path", FORWARD),
    ]
    # Scores and weights, queries, keys and values; beside few numbers of 8 bytes.
    n, d, h = 256, 512, 8
    assert rows[0]["measured"] == pytest.approx(4 * (2 * n * n * h + 3 * n * d), abs=24)
    assert all(one["exact"] for one in rows)
