import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.measure.laws.laws import MANY, full, naive_bytes, pages, samples, seconds, shaken

from attncost.cli import main

EXAMPLE = str(Path(__file__).parents[2] / "examples" / "data" / "article_timings.csv")


@pytest.fixture
def run(tmp_path):
    """A run of two subjects, one of them too slow in its attention."""
    environment = {"schema": "attncost.samples/1", "kind": "environment", "clock": "made up"}
    rows = [environment]
    for subject, core_rate in (("good", 5e10), ("slow", 1e9)):
        for n, values in samples(noise=1e-3, core_rate=core_rate).items():
            rows += [_sample(subject, n, value, round=i) for i, value in enumerate(values)]
            rows.append(_sample(subject, n, 100 * values[0], warmup=True))
    (tmp_path / "samples.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return tmp_path


def _sample(subject, length, seconds, **changes):
    flops = {"linear_flops": full(length).linear, "core_flops": full(length).core}
    return {
        "kind": "sample",
        "subject": subject,
        "labels": {},
        "length": length,
        "batch": 1,
        "dtype": "float32",
        "round": 0,
        "warmup": False,
        "repeats": 1,
        "seconds": seconds,
        "wall_seconds": seconds,
        "peak_bytes": 0,
        **flops,
        **changes,
    }


def test_a_table_is_judged_in_80_columns_with_the_verdict_first(capsys):
    assert main(["fit", EXAMPLE, "--d-model", "512"]) == 0
    printed = capsys.readouterr().out
    words = " ".join(printed.split())
    title, verdict, *_ = printed.splitlines()
    assert title == "The law of article_timings.csv"
    assert verdict.startswith("  article_timings.csv: Inconsistent with 4nd² + 2n²d:")
    assert "the time grows 152.6 x, the formula 30.1 x" in words
    assert "10.5 tokens, the formula says 1,024" in words
    assert max(len(line) for line in printed.splitlines()) <= 80
    assert "1,024 76.3 ms 72.4 ms to 80.2 ms 73.2 ms -4.06 % 2 1.42" in words


def test_json_names_its_schema_and_keeps_the_numbers(capsys):
    assert main(["fit", EXAMPLE, "--d-model", "512", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema"] == "attncost.fit/2"
    (law,) = found["laws"]
    assert law["verdict"]["word"] == "inconsistent"
    (bound,) = [why for why in law["verdict"]["reasons"] if why["key"] == "crossover"]
    assert bound["values"]["greatest"] == pytest.approx(10.5, abs=0.05)
    assert law["crossover"] is None
    assert law["needed"] == 4096
    assert [term["name"] for term in law["terms"]] == ["constant", "linear", "core"]
    assert found["without"] == {}
    assert found["missing"] is None
    assert found["command"] == f"attncost fit {EXAMPLE} --d-model 512"


def test_a_design_that_is_too_short_for_a_crossover_is_said_to_be(capsys):
    assert main(["fit", EXAMPLE, "--d-model", "512"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "too short to place a crossover (formula: 1,024, so measure up to 4,096)" in words
    assert "5 lengths are too few to name a class of growth" in words


def test_a_wide_tolerance_forgives_more(capsys):
    assert main(["fit", EXAMPLE, "--d-model", "512", "--tolerance", "0.4", "--json"]) == 0
    (law,) = json.loads(capsys.readouterr().out)["laws"]
    assert law["verdict"]["word"] != "inconsistent"


@pytest.mark.parametrize("name", ["", "samples.jsonl"])
def test_a_run_has_a_law_for_each_subject_and_warmup_does_not_count(name, run, capsys):
    assert main(["fit", str(run / name), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["clock"] for one in found["environments"]] == ["made up"]
    assert {law["subject"]: law["verdict"]["word"] for law in found["laws"]} == {
        "good": "consistent",
        "slow": "inconsistent",
    }
    assert {law["repeats"] for law in found["laws"]} == {9}


def test_one_subject_of_a_run_can_be_chosen(run, capsys):
    assert main(["fit", str(run), "--subject", "slow"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("The law of slow\n  slow: Inconsistent with its FLOPs")
    assert "good" not in printed
    assert max(len(line) for line in printed.splitlines()) <= 80


def test_a_line_that_was_cut_off_is_told_and_left_out(run, capsys):
    with (run / "samples.jsonl").open("a") as file:
        file.write('{"kind": "sam')
    assert main(["fit", str(run), "--subject", "good"]) == 0
    assert "\nNotes on the runs\nline 142 of samples.jsonl was cut off" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--subject", "god"], "did you mean 'good'?"),
        (["--d-model", "512"], "leave --d-model out"),
        (["--tolerance", "5"], "between 0 and 1"),
    ],
)
def test_a_mistaken_request_of_a_run_is_answered_in_one_line(options, reason, run, capsys):
    _refused(["fit", str(run), *options], reason, capsys)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([EXAMPLE], "such as --d-model 512"),
        ([EXAMPLE, "--d-model", "0"], "d_model must be at least 1"),
        ([EXAMPLE, "--d-model", "1" + 400 * "0"], "FLOPs must be at most 1e+60"),
        ([EXAMPLE, "--d-model", "512", "--subject", "x"], "leave --subject out"),
        (["nowhere.csv", "--d-model", "512"], "nowhere.csv cannot be read"),
        ([EXAMPLE, EXAMPLE, "--d-model", "512"], "is a table, which is fitted alone"),
        (["nowhere.jsonl"], "nowhere.jsonl does not exist: name a folder"),
        ([str(Path(__file__).parent)], "samples.jsonl"),
        ([], "Missing argument 'sources'"),
    ],
)
def test_a_mistaken_request_is_answered_in_one_line(arguments, reason, capsys):
    _refused(["fit", *arguments], reason, capsys)


def test_samples_that_do_not_belong_together_are_refused(run, capsys):
    with (run / "samples.jsonl").open("a") as file:
        file.write(f"{json.dumps(_sample('good', 64, 1e-3, core_flops=1))}\n")
    _refused(["fit", str(run)], "length 64 has more than one count of FLOPs", capsys)


def test_series_of_one_subject_have_a_law_each(run, capsys):
    with (run / "samples.jsonl").open("a") as file:
        for n, values in samples(noise=1e-3, linear_rate=2e10).items():
            for i, value in enumerate(values):
                file.write(f"{json.dumps(_sample('good', n, value, round=i, batch=4))}\n")
    assert main(["fit", str(run), "--json"]) == 0
    laws = json.loads(capsys.readouterr().out)["laws"]
    assert [law["subject"] for law in laws] == ["good", "good, batch 4", "slow"]


@pytest.fixture
def faulty(tmp_path):
    """A run of naive attention at 13 lengths, whose page faults take 2 µs each."""
    command = "attncost measure layer:d_model=512,heads=8 --attention naive -o faulty"
    environment = {"schema": "attncost.samples/1", "kind": "environment", "command": command}
    rows = [environment]
    times = {n: seconds(n) + 2e-6 * pages(n) for n in MANY}
    for n, values in shaken(times, noise=0.01).items():
        more = {"bytes": naive_bytes(n).bytes, "minor_faults": pages(n)}
        rows += [_sample("naive", n, value, round=i, **more) for i, value in enumerate(values)]
    folder = tmp_path / "faulty"
    folder.mkdir()
    (folder / "samples.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder


def test_page_faults_are_named_and_the_runs_that_are_missing_too(faulty, capsys):
    assert main(["fit", str(faulty)]) == 0
    printed = capsys.readouterr().out
    words = " ".join(printed.split())
    assert "naive: Consistent with its FLOPs and page faults: " in words
    assert "Page faults take " in words
    assert "of the time at 4,096 tokens" in words
    assert "From 1,024 to 4,096 tokens time grows as n^" in words
    assert "Attention takes longer than the rest from " in words
    assert "other numbers of heads" in words
    # The command of this run, at other heads and without its folder, is one that can be pasted.
    assert "  attncost measure layer:d_model=512,heads=4 --attention naive\n" in printed
    assert max(len(line) for line in printed.splitlines()) <= 80


def test_a_command_of_more_than_80_columns_stands_on_one_line(faulty, capsys):
    first, *rows = (faulty / "samples.jsonl").read_text().splitlines()
    lengths = ",".join(map(str, MANY))
    command = f"attncost measure layer:d_model=512,heads=8 --lengths {lengths} --rounds 40"
    lines = [json.dumps({**json.loads(first), "command": f"{command} -o 'a run'"}), *rows]
    (faulty / "samples.jsonl").write_text("".join(f"{line}\n" for line in lines))
    assert main(["fit", str(faulty)]) == 0
    wanted = command.replace("heads=8", "heads=4")
    assert f"\n\nRuns of other heads:\n  {wanted}\n" in capsys.readouterr().out
    assert main(["fit", str(faulty), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["missing"] == wanted


def test_a_picture_shows_the_times_the_law_and_each_of_its_terms(faulty, tmp_path, capsys):
    picture = tmp_path / "law.svg"
    assert main(["fit", str(faulty), "--chart", str(picture)]) == 0
    assert capsys.readouterr().out.endswith(f"\n\nThe picture is in {picture}.\n")
    drawn = picture.read_text("utf-8")
    root = ElementTree.fromstring(drawn)
    assert root.tag.endswith("svg")
    for name in ("measured", "law", "linear part", "attention", "page faults", "crossover"):
        assert name in drawn


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--chart", "law.svg"], "a chart shows one law, got 2: choose one with --subject"),
        (["--subject", "good", "--chart", "nowhere/law.svg"], "nowhere/law.svg cannot be written"),
    ],
)
def test_a_picture_that_cannot_be_drawn_is_refused_in_one_line(options, reason, run, capsys):
    _refused(["fit", str(run), *options], reason, capsys)


def _another(run, tmp_path, **environment):
    """Copy a run to another folder, measured in another environment."""
    first, *rows = (run / "samples.jsonl").read_text().splitlines()
    folder = tmp_path / "another"
    folder.mkdir()
    lines = [json.dumps({**json.loads(first), **environment}), *rows]
    (folder / "samples.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return str(folder)


def test_rounds_of_several_runs_are_pooled(run, tmp_path, capsys):
    assert main(["fit", str(run), _another(run, tmp_path), "--subject", "good", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [law["repeats"] for law in found["laws"]] == [18]
    assert len(found["sources"]) == len(found["environments"]) == 2


def test_runs_of_other_conditions_are_pooled_only_if_that_is_asked_for(run, tmp_path, capsys):
    other = _another(run, tmp_path, clock="another")
    _refused(["fit", str(run), other], "made up and another", capsys)
    assert main(["fit", str(run), other, "--across-environments", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["laws"][0]["repeats"] == 18


def test_a_run_that_is_named_twice_is_refused(run, capsys):
    _refused(["fit", str(run), str(run)], "is named twice", capsys)


def test_a_subject_without_a_law_is_named_after_those_with_one(run, capsys):
    with (run / "samples.jsonl").open("a") as file:
        file.write(f"{json.dumps(_sample('new', 64, 1e-3))}\n")
    assert main(["fit", str(run)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("The laws of 2 subjects\n  good: Consistent")
    reason = "a law needs 2 lengths or more, all positive, got [64]."
    assert f"\n\nNo law\nnew: {reason}\n" in printed
    assert main(["fit", str(run), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [law["subject"] for law in found["laws"]] == ["good", "slow"]
    assert found["without"] == {"new": reason}
    _refused(["fit", str(run), "--subject", "new"], "new: a law needs 2 lengths or more", capsys)


@pytest.mark.parametrize(
    ("rows", "reason"),
    [([], "measure more rounds"), ([_sample("it", 64, 1.0, warmup=True)], "it: a law needs")],
)
def test_a_run_of_nothing_but_warmup_is_refused(rows, reason, run, capsys):
    environment = (run / "samples.jsonl").read_text().splitlines()[0]
    lines = [environment, *(json.dumps(row) for row in rows)]
    (run / "samples.jsonl").write_text("".join(f"{line}\n" for line in lines))
    _refused(["fit", str(run)], reason, capsys)


def test_a_table_needs_no_torch():
    code = (
        "import sys; from attncost.cli import main; "
        f"assert main(['fit', {EXAMPLE!r}, '--d-model', '512']) == 0; "
        "assert not {'torch', 'sympy'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def _refused(arguments, reason, capsys):
    assert main(arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("attncost: ")
    assert reason in line
