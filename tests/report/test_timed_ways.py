"""Ways as they were timed, against ratios that are written out by hand."""

import pytest
from tests.report.test_compared_ways import LAYER, PAIR, SLOT, asked

from attncost.measure.sweep.interleaved import Ratio
from attncost.measure.trials.ways import WayTime
from attncost.report.compared_ways import compared
from attncost.report.timed_ways import trials_facts, trials_finding, trials_section, tried

LINES = [2, 2, 2, 8]
# Of the lines two were timed, a short one and the long one.
SOME = [2, 8]


def timed(name, seconds, figure, low, high):
    ratio = Ratio(figure, low, high, 7)
    return WayTime(name=name, seconds=seconds, ratio=ratio, texts=2, tokens=10)


@pytest.fixture
def trials():
    found = compared(asked(LINES))
    (packed,) = (name for name in found.timed if name.startswith("packed"))
    times = (
        timed("padded (size 2) at random", 4.0, 1.0, 1.0, 1.0),
        timed(packed, 1.0, 0.25, 0.2, 0.3),
    )
    return tried(found, times, lengths=SOME, not_run="One was not.")


# Both lines in rows of eight slots, and the same ones packed.
PREDICTED = (10 * SLOT + (4 + 64) * PAIR) / (16 * SLOT + 2 * 64 * PAIR)


def test_predictions_are_those_of_the_lines_that_were_timed(trials):
    usual, packed = trials.times
    assert trials.predicted(usual) == 1.0
    assert trials.predicted(packed) == PREDICTED
    assert {one.lengths for one in trials.priced.values()} == {(2, 8)}
    assert LAYER.linear(1).executed == SLOT, "what is written out by hand is what counts"


def test_the_table_has_the_fastest_way_first_and_says_how_it_was_timed(trials):
    section = trials_section(trials, command="c")
    assert section.text == ("One was not.",)
    (table,) = section.blocks
    assert table.title == "Measured time of 2 lines"
    assert [column.title for column in table.columns[1:]] == [
        *("time", "of usual", "low", "high", "predicted")
    ]
    assert [row[1:] for row in table.rows] == [
        (1.0, 0.25, 0.2, 0.3, PREDICTED),
        (4.0, 1.0, 1.0, 1.0, 1.0),
    ]
    assert table.note.startswith("2 of 4 lines, ")
    assert "10 tokens; all ways in each of 7 rounds" in table.note


def test_the_finding_says_the_ratio_with_its_interval_and_what_was_predicted(trials):
    finding = trials_finding(trials, command="c")
    assert finding.text.startswith("Measured on 2 lines: packed (tokens ")
    assert (
        "takes 0.250 x (0.200 x to 0.300 x) the time of padded (size 2) at random" in finding.text
    )
    assert finding.text.endswith(f"{PREDICTED:.3f} x by prediction.")
    assert finding.values == trials_facts(trials)[1]
    assert finding.values["predicted"] == PREDICTED
    assert finding.values["ratio"] == {"figure": 0.25, "low": 0.2, "high": 0.3, "rounds": 7}
