import json
import sys

import pytest
from benchmarks.kernels import main, parsed
from benchmarks.peak import available, peak


def test_quick_is_less_of_everything_unless_it_is_named():
    asked = parsed(["--quick", "--lengths", "2048,512"])
    assert asked.lengths == [512, 2048]
    assert asked.only == ("causal", "window", "documents")
    assert asked.dtypes == ("float32",)
    assert len(parsed([]).lengths) == 9


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--only", "windw"], "did you mean 'window'"),
        (["--lengths", "100"], "'100'"),
        (["--dtypes", "float16"], "did you mean 'bfloat16'"),
        (["--rounds", "2"], "at least 3"),
    ],
)
def test_a_mistaken_request_ends_with_status_2_and_one_clear_line(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        parsed(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err.splitlines()[-1]


def test_a_run_prints_tables_of_80_columns_and_keeps_its_samples(tmp_path, capsys):
    path = tmp_path / "found.json"
    arguments = ["--quick", "--only", "full,window", "--lengths", "64", "--rounds", "3"]
    main([*arguments, "--json", str(path)])
    lines = capsys.readouterr().out.splitlines()
    tables = [line for line in lines if not line.startswith(("met", "missed", "not "))]
    assert max(map(len, tables)) <= 80
    assert any(line.split()[:2] == ["window", "64"] for line in lines)
    assert any(
        line.startswith("not measured: window / causal SDPA, forward, 2,048") for line in lines
    )
    kept = json.loads(path.read_text())
    assert kept["environment"]["threads"] == 1
    assert {row["backward"] for row in kept["times"]} == {False, True}
    assert len(kept["times"][0]["seconds"]["window: attncost"]) == 3


@pytest.mark.skipif(not available(), reason="the system does not count resident memory")
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_memory_of_a_process_is_what_its_output_takes_and_a_little_more():
    taken, kept = peak("full", "SDPA", 2048, dtype="float32", backward=False)
    output = 8 * 2048 * 64 * 4 / 2**20
    assert output <= taken <= 6 * output
    assert 3 * output - 1 <= kept <= 3 * output + 8
