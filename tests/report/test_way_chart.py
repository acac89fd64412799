"""The chart of what the settings of a way change, against slots and FLOPs written out by hand."""

import pytest
from tests.report.test_compared_ways import ALIKE, APART, MASKED, asked

from attncost.batches.curves import Curves
from attncost.report.compared_ways import compared
from attncost.report.way_chart import way_chart


@pytest.mark.parametrize(
    ("kind", "points"),
    [
        # Of batches of 1, 2, 4 and 8 the last two lie in the same octave, from 16 to 31 slots.
        ("padded", [(4, 1.0), (8, 1.0), (24, 1.0)]),
        # All lines are in one row, however long rows may be.
        ("packed", [(24, 1.0)]),
        ("packed, dense mask", [(24, MASKED / APART)]),
    ],
)
def test_the_best_of_each_octave_of_slots_is_drawn(kind, points):
    figure = way_chart(compared(asked(ALIKE)), "c")
    rows = [row for row in figure.table.rows if row[0] == kind]
    assert [(row[1], row[3]) for row in rows] == points
    assert {row[2] for row in rows} == {0.0}
    (series,) = (one for one in figure.chart.series if one.name == kind)
    assert [(point.x, point.y) for point in series.points] == points


def test_axes_and_title_say_what_decides_and_beside_what():
    calls = Curves("calls", rest=((1, 1.0), (2, 1.5)), attend=((1, 1e-9),))
    by_flops = way_chart(compared(asked(ALIKE)), "c").chart
    by_time = way_chart(compared(asked(ALIKE, machine=calls)), "c").chart
    assert by_flops.title.endswith(": FLOPs, beside padded (size 2) at random")
    assert by_time.title.endswith(": time, beside padded (size 2) at random")
    assert (by_flops.y.label, by_time.y.label) == (
        "FLOPs of the usual way",
        "time of the usual way",
    )
