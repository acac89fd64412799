"""What is said of laws is what was fitted, in 80 columns and in every digit."""

import json

import pytest
from tests.measure.laws.laws import MANY, full, medians_of, naive_bytes, pages, samples, shaken

from attncost import fit_law
from attncost.measure.laws.fit import fit_medians
from attncost.measure.laws.sentences import because, sentences
from attncost.measure.laws.series import Laws
from attncost.report.fitted import fit_document, missing
from attncost.report.plain import dumped
from attncost.report.text import text

LAW = fit_law(samples(noise=0.01), predicted=full)
OTHERS = fit_medians(medians_of(samples(noise=0.01, lengths=MANY)), predicted=naive_bytes)


def document(laws=None, *, sources=("a run",), environments=({},)):
    return fit_document(
        laws or Laws({"it": LAW}, {}),
        sources=sources,
        environments=environments,
        command="attncost fit 'a run'",
    )


def words(document):
    return " ".join(text(document).split())


def test_everything_that_is_said_of_a_law_is_in_it_and_the_verdict_is_first():
    printed = words(document())
    assert printed.startswith(f"The law of it it: {LAW.verdict.sentence}")
    places = [printed.index(one) for one in (*because(LAW), *sentences(LAW)[1:])]
    assert places == sorted(places)
    assert printed.endswith("does noise explain that in 95 % of draws.")


def test_it_is_80_columns_wide():
    laws = Laws({"a layer, fused qkv, batch 4": LAW, "naive": OTHERS}, {"new": "none " * 40})
    assert max(map(len, text(document(laws)).splitlines())) <= 80


def test_json_keeps_every_digit_of_every_length():
    found = json.loads(dumped(document()))
    (table,) = found["tables"]
    assert [row[1] for row in table["rows"]] == [point.seconds.value for point in LAW.points]
    assert [row[3] for row in table["rows"]] == [point.fitted for point in LAW.points]
    powers = [step.measured.value for step in LAW.exponents]
    assert [row[5] for row in table["rows"]] == [None, *powers]
    assert found["findings"][0]["values"] == {
        "subject": "it",
        "verdict": "consistent",
        "rms": LAW.rms,
    }
    assert found["laws"][0]["covariance"] == [list(row) for row in LAW.covariance]


def test_several_laws_have_a_verdict_and_a_section_each():
    both = document(Laws({"one": LAW, "two": OTHERS}, {"three": "no reason."}))
    assert both.title == "The laws of 2 subjects"
    assert [finding.key for finding in both.findings] == ["verdict_1", "verdict_2"]
    titles = [section.title for section in both.sections]
    assert titles == ["one", "two", "No law", "The rule"]


def test_what_makes_times_unsure_is_said_of_the_run_that_it_is_true_of():
    busy = {"load": 3.5, "usable_cores": 2, "threads": 1, "notes": ["a note."]}
    alone = words(document(environments=(busy,)))
    assert "Notes on the runs The load was 3.5 when it began, on 2 cores" in alone
    assert "others used the machine. a note. The rule" in alone
    slow = {"torch_debug": True}
    two = words(document(sources=("a", "b"), environments=(busy, slow)))
    assert "a: The load was 3.5" in two
    assert "a: a note." in two
    assert "b: PyTorch is a debug build, which is slower." in two
    assert "Notes" not in words(document())


def test_a_table_has_no_environment():
    assert "Notes" not in words(document(environments=()))
    assert missing(Laws({"it": OTHERS}, {}), []) is None


COMMAND = "attncost measure layer:d_model=512,heads={} --rounds 9"


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        (COMMAND.format(8), COMMAND.format(4)),
        (COMMAND.format(3), COMMAND.format(1)),
        (COMMAND.format(1), None),
        (f"{COMMAND.format(8)} -o 'my runs/a run' --seed 1", f"{COMMAND.format(4)} --seed 1"),
        (f"{COMMAND.format(8)} --output '/my runs/a' --seed 1", f"{COMMAND.format(4)} --seed 1"),
        (f"{COMMAND.format(8)} --output='a run'", COMMAND.format(4)),
        (
            "attncost measure 'a model:heads=8,d_model=4'",
            "attncost measure 'a model:heads=4,d_model=4'",
        ),
        ("attncost measure model:kv_heads=8", None),
        ("attncost measure demo", None),
        ("an unfinished 'quote heads=8", None),
        ("", None),
    ],
)
def test_the_runs_that_are_missing_are_a_command_that_can_be_pasted(command, wanted):
    laws = Laws({"it": OTHERS}, {})
    assert missing(laws, [{"command": command}]) == wanted
    # Nothing is missing where all can be told apart.
    assert missing(Laws({"it": LAW}, {}), [{"command": command}]) is None


def test_page_faults_that_are_kept_but_take_no_time_are_nowhere_named():
    times = {n: [1e-3 + 1e-6 * n] * 9 for n in MANY}
    law = fit_medians(
        medians_of(shaken({n: t[0] for n, t in times.items()}, noise=0.01), faults=pages),
        predicted=full,
    )
    assert law.term("faults") is not None
    assert "fault" not in words(document(Laws({"it": law}, {})))
