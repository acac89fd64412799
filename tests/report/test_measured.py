import pytest

from attncost.measure.store.summary import Measured
from attncost.report.measured import run_document
from attncost.report.plain import plain
from attncost.report.text import text

ENVIRONMENT = {
    "clock": "process CPU time",
    "device": "cpu",
    "processor": "a processor with a name",
    "threads": 1,
    "torch": "2.13.0",
    "command": "attncost measure layer:d_model=512,heads=8 --lengths 64,4096",
}


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
    cells = [cell(name, n) for name in ("naive", "full") for n in (64, 4096)]
    return run_document(
        [*cells, cell("short", 64, rounds=5)],
        run="a run",
        environment=ENVIRONMENT,
        notes=["naive at 8,192: out of memory."],
    )


def test_there_is_one_table_a_subject_that_fits_a_terminal(document):
    printed = text(document)
    assert max(map(len, printed.splitlines())) <= 80
    for part in ("naive", "full", "78.7 ms", "76.2 ms to 129 ms", "64.0 KiB", "4,096"):
        assert part in printed


def test_it_ends_with_what_was_skipped_and_what_to_do_next(document):
    assert text(document).splitlines()[-2:] == [
        "naive at 8,192: out of memory.",
        "Next: attncost fit 'a run'",
    ]


def test_with_too_few_samples_it_does_not_claim_an_interval(document):
    *_, last = (block for section in document.sections for block in section.blocks)
    assert last.rows[0][2] == "all: 76.2 ms to 129 ms"


def test_json_keeps_every_digit(document):
    found = plain(document)
    assert found["schema"] == "attncost.measure/1"
    assert found["run"] == "a run"
    assert found["environment"] == ENVIRONMENT
    assert found["medians"][1] == {
        "subject": "naive",
        "length": 4096,
        "rounds": 7,
        "seconds": 0.00123 * 4096,
        "low": 0.00119 * 4096,
        "high": 0.00201 * 4096,
        "peak_bytes": 1024 * 4096,
    }
