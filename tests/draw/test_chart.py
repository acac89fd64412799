import pytest

from attncost import ShapeError
from attncost.draw.chart import MOST_SERIES, Axis, Chart, Point, Series
from attncost.draw.svg import svg


def chart(count):
    series = tuple(Series(f"{i}", (Point(1, 1),)) for i in range(count))
    axis = Axis(label="x")
    return Chart(title="t", description="d", x=axis, y=axis, series=series)


def test_a_chart_holds_as_many_series_as_can_be_told_apart():
    assert len(chart(MOST_SERIES).series) == MOST_SERIES
    for wrong in (0, MOST_SERIES + 1):
        with pytest.raises(ShapeError, match=f"1 to {MOST_SERIES} series, got {wrong}"):
            chart(wrong)


def test_an_axis_has_a_unit_that_can_be_written():
    with pytest.raises(ShapeError, match=r"unit must be one of count, .* got 'miles'"):
        Axis(label="x", unit="miles")


def test_a_companion_shares_the_colour_of_its_group_and_has_no_place_in_the_legend():
    points = (Point(1, 2), Point(2, 3))
    series = (Series("measured", points, "markers", group="a"), Series("", points, group="a"))
    drawn = svg(
        Chart(title="t", description="d", x=Axis(label="x"), y=Axis(label="y"), series=series),
        ident="i",
    )
    assert drawn.count(">measured<") == 1
    assert "--s0" in drawn
    assert "--s1" not in drawn
    with pytest.raises(ShapeError, match="a series without a name needs a group, got 'b'"):
        Chart(
            title="t",
            description="d",
            x=Axis(label="x"),
            y=Axis(label="y"),
            series=(series[0], Series("", points, group="b")),
        )
