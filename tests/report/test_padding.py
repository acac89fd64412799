"""What a report says of padding, against batches written out by hand."""

import pytest
from tests.report.test_findings import table

from attncost.batches.curves import Curves
from attncost.measure.subjects.target import target
from attncost.report.compared_ways import Asked, compared
from attncost.report.lines import Text
from attncost.report.padding import padding

LINES = [2, 2, 2, 900]
LAYER = "layer:d_model=16,heads=2"


def asked(lengths=LINES, **more):
    text = Text(name="a text", lengths=lengths, unit="words", batch_size=2)
    return Asked(text=text, model=target(LAYER).configuration, **more)


def rows(found, title):
    return {row[0]: row for row in table(found, title).rows}


def test_the_usual_way_is_that_of_the_lines_at_random():
    chapter = padding(asked([2, 2, 2, 8]), name="a model", command="c")
    usual = rows(chapter, "Ways to batch a text")["padded (size 2) at random"]
    assert usual[1:3] == (1 - 14 / 20, (8 + 128) / (12 + 64)), "wherever the long line is"
    assert usual[-1] == 1
    (finding,) = chapter.findings
    assert finding.values["at_random"] == {"wasted_tokens": usual[1], "times_pairs": usual[2]}
    assert finding.text.startswith("Batches of 2: 30.0 % padding, 1.79 x the pairs; ")
    assert len(finding.text) <= 78


def test_every_way_stands_in_the_table_once_and_packing_ones_twice():
    names = [row[0] for row in table(padding(asked(), name="a", command="c"), "Ways").rows]
    kinds = sorted(name.partition(" (")[0] for name in names[1:])
    assert kinds == ["bucketed", "budgeted", "packed", "packed", "padded", "stepped"]
    assert sum(name.endswith(", dense mask") for name in names) == 1


def test_the_cheapest_comes_first_and_is_what_the_finding_speaks_of():
    # All that counts is the call: 1 second each, and nothing for what lies in it.
    machine = Curves("calls", rest=((1, 1.0), (1 << 20, 1.0000001)), attend=((1, 1e-9),))
    found = compared(asked([3] * 200, machine=machine))
    assert found.best.priced.calls == min(one.priced.calls for one in found.ways)
    ratios = [found.ratio(one.priced) for one in found.ways]
    assert ratios == sorted(ratios)
    chapter = padding(asked([3] * 200, machine=machine), name="a", command="c")
    assert "the time." in chapter.findings[0].text
    assert chapter.findings[0].values["best"]["times"] == pytest.approx(
        found.best.priced.calls / 100, rel=1e-3
    )


def test_a_setting_is_drawn_for_each_octave_of_the_largest_batch():
    chapter = padding(asked([3, 5, 7, 9] * 30), name="a", command="c")
    drawn = table(chapter, "What the size of a batch")
    octaves = [(row[0], row[1].bit_length()) for row in drawn.rows]
    assert len(set(octaves)) == len(octaves)
    assert {"padded", "packed", "packed, dense mask"} <= {name for name, _ in octaves}
    best = min(drawn.rows, key=lambda row: row[3])
    assert best[3] == compared(asked([3, 5, 7, 9] * 30)).ratio(
        compared(asked([3, 5, 7, 9] * 30)).best.priced
    )
