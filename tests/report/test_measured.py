from dataclasses import replace

import pytest

from attncost.measure.store.summary import Measured
from attncost.measure.sweep.sweep import Outcome
from attncost.report.measured import ended, run_document
from attncost.report.plain import plain
from attncost.report.text import text

ENVIRONMENT = {
    "clock": "process CPU time",
    "clock_reason": "it leaves out waiting",
    "plan": {"rounds": 40, "budget": 120.0, "enough": 0.1},
    "notes": ["naive at 8,192: out of memory."],
    "device": "cpu",
    "processor": "a processor with a name",
    "threads": 1,
    "torch": "2.13.0",
    "command": "attncost measure layer:d_model=512,heads=8 --lengths 64,4096",
}


OUTCOME = Outcome(rounds=7, ended="enough", width=0.0812, skipped=())


def cell(subject, length, rounds=7):
    return Measured(
        subject=subject,
        length=length,
        rounds=rounds,
        seconds=0.00123 * length,
        low=0.00119 * length,
        high=0.00201 * length,
        peak_bytes=1024 * length,
    )


@pytest.fixture
def document():
    return run_document(
        {
            "naive": [cell("naive", n) for n in (64, 4096)],
            "full, batch 4": [cell("full", n) for n in (64, 4096)],
            "short": [cell("short", 64, rounds=5)],
        },
        run="a run",
        environment=ENVIRONMENT,
        outcome=OUTCOME,
    )


def test_there_is_one_table_a_subject_that_fits_a_terminal(document):
    printed = text(document)
    assert max(map(len, printed.splitlines())) <= 80
    for part in ("naive", "full, batch 4", "78.7 ms", "76.2 ms to 129 ms", "64.0 KiB", "4,096"):
        assert part in printed


def test_it_ends_with_what_was_skipped_why_it_stopped_and_what_to_do_next(document):
    assert text(document).splitlines()[-5:] == [
        "naive at 8,192: out of memory.",
        "The clock is process CPU time: it leaves out waiting.",
        "7 rounds were enough, exponents are known to intervals 0.081 wide or less:",
        "--enough 0.1 was asked for.",
        "Next: attncost fit 'a run'",
    ]


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (
            Outcome(12, "budget", 0.25, ()),
            "12 of 40 rounds: the budget of 120 s was spent, exponents are known to intervals 0.25 "
            "wide or less; --budget allows more.",
        ),
        (Outcome(40, "rounds", None, ()), "All 40 rounds were taken; --rounds allows more."),
        (Outcome(0, "nothing", None, ("full at 8: no.",)), "No cell could run."),
    ],
)
def test_each_way_to_end_is_said(outcome, said):
    assert ended(outcome, ENVIRONMENT) == said


def test_a_run_of_which_nothing_could_run_names_no_law_to_fit():
    document = run_document(
        {}, run="a run", environment=ENVIRONMENT, outcome=Outcome(0, "nothing", None, ())
    )
    assert text(document).splitlines()[-1] == "Next: a shorter length or a smaller batch."


def test_with_too_few_samples_it_does_not_claim_an_interval(document):
    *_, last = (block for section in document.sections for block in section.blocks)
    assert last.rows[0][2] == "all: 76.2 ms to 129 ms"


def test_json_keeps_every_digit(document):
    found = plain(document)
    assert found["schema"] == "attncost.measure/1"
    assert found["run"] == "a run"
    assert found["environment"] == ENVIRONMENT
    assert found["outcome"] == {"rounds": 7, "ended": "enough", "width": 0.0812, "skipped": ()}
    assert (
        found["medians"][1].items()
        >= {
            "series": "naive",
            "subject": "naive",
            "length": 4096,
            "rounds": 7,
            "seconds": 0.00123 * 4096,
            "low": 0.00119 * 4096,
            "high": 0.00201 * 4096,
            "peak_bytes": 1024 * 4096,
        }.items()
    )


def test_it_says_that_others_used_the_machine():
    waited = replace(cell("full", 64), disturbed=3)
    document = run_document(
        {"full": [waited, cell("full", 128)]},
        run="a run",
        environment={**ENVIRONMENT, "load": 3.5, "usable_cores": 2},
        outcome=OUTCOME,
    )
    said = " ".join(text(document).split())
    assert "The load was 3.5 when it began, on 2 cores" in said
    assert "3 of 14 samples waited for a core for more than 5 % of their time" in said
