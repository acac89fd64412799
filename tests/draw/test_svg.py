import itertools
import math
import re
from xml.etree import ElementTree

import pytest

from attncost import ShapeError
from attncost.draw.chart import Axis, Chart, Mark, Point, Series
from attncost.draw.look import COLOURS
from attncost.draw.svg import svg

NAMESPACE = "{http://www.w3.org/2000/svg}"


def chart(*series, marks=(), log=True, unit="count", title="a title"):
    return Chart(
        title=title,
        description="what there is to see",
        x=Axis(label="length", unit="tokens", log=log),
        y=Axis(label="cost", unit=unit, log=log),
        series=series,
        marks=marks,
    )


def parsed(chart):
    return ElementTree.fromstring(svg(chart, ident="f"))


def texts(root):
    return [text.text for text in root.iter(f"{NAMESPACE}text")]


def titles(root):
    return [title.text for title in root.iter(f"{NAMESPACE}title")]


LINE = Series("law", tuple(Point(10**k, 10.0 ** (2 * k)) for k in range(1, 5)))


def test_a_picture_names_and_describes_itself():
    root = parsed(chart(LINE))
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == "f-title f-desc"
    assert root.find(f"{NAMESPACE}title").attrib == {"id": "f-title"}
    assert root.find(f"{NAMESPACE}title").text == "a title"
    assert root.find(f"{NAMESPACE}desc").text == "what there is to see"
    assert {"length", "cost", "law"} <= set(texts(root))


def test_a_power_law_is_a_straight_line_on_doubly_logarithmic_paper():
    line = next(parsed(chart(LINE)).iter(f"{NAMESPACE}polyline")).get("points")
    points = [tuple(map(float, pair.split(","))) for pair in line.split()]
    xs, ys = zip(*points, strict=True)
    # Equal factors are equal steps, to the decimal that is written.
    assert [b - a for a, b in itertools.pairwise(xs)] == pytest.approx(
        [(xs[-1] - xs[0]) / 3] * 3, abs=0.11
    )
    assert [a - b for a, b in itertools.pairwise(ys)] == pytest.approx(
        [(ys[0] - ys[-1]) / 3] * 3, abs=0.11
    )
    assert ys[0] > ys[-1]


def test_a_measurement_stands_on_its_law_with_its_interval_around_it():
    measured = Series("measured", (Point(100, 1e4, 5e3, 2e4), Point(1000, 1e6)), "markers")
    root = parsed(chart(LINE, measured))
    assert "measured: length 100, 10.0 k (5.00 k to 20.0 k)" in titles(root)
    assert "measured: length 1,000, 1.00 M" in titles(root)
    line = next(root.iter(f"{NAMESPACE}polyline")).get("points").split()
    paths = [path.get("d") for path in root.iter(f"{NAMESPACE}path")]
    x, y = line[1].split(",")
    assert any(path.startswith(f"M{x} {y}m") for path in paths)
    (bar,) = [path for path in paths if path.startswith(f"M{x} ") and "V" in path and "h6" in path]
    low, high = map(float, re.match(rf"M{x} ([\d.]+)V([\d.]+)M", bar).groups())
    # A factor of 2 either way, where 4 decades of y take (y of the first - y of the last).
    decade = (float(line[0].split(",")[1]) - float(line[-1].split(",")[1])) / 6
    assert low - float(y) == pytest.approx(decade * math.log10(2), abs=0.11)
    assert float(y) - high == pytest.approx(decade * math.log10(2), abs=0.11)


def test_series_differ_without_colour_and_a_group_shares_one():
    root = parsed(
        chart(
            *(Series(f"line {i}", LINE.points) for i in range(4)),
            *(Series(f"dots {i}", LINE.points, "markers", f"line {i}") for i in range(4)),
        )
    )
    dashes = [line.get("stroke-dasharray") for line in root.iter(f"{NAMESPACE}polyline")]
    assert len(set(dashes)) == 4
    markers = [
        path.get("d").split("m", 1)[1]
        for path in root.iter(f"{NAMESPACE}path")
        if path.find(f"{NAMESPACE}title") is not None
    ]
    assert len(set(markers)) == 4
    strokes = {g.get("stroke") for g in root.iter(f"{NAMESPACE}g") if g.get("stroke-width")}
    assert strokes == {f"var(--s{i},{COLOURS[i]})" for i in range(4)}


def test_lines_that_accompany_a_line_look_like_it_but_thinner_however_many_there_are():
    runs = [
        Series("" if seed else f"line {i}", LINE.points, group=f"line {i}")
        for i in range(3)
        for seed in range(5)
    ]
    root = parsed(chart(*runs))
    drawn = [g for g in root.iter(f"{NAMESPACE}g") if g.find(f"{NAMESPACE}title") is not None]
    looks = [
        (g.get("stroke"), g.find(f"{NAMESPACE}polyline").get("stroke-dasharray")) for g in drawn
    ]
    assert [looks.count(look) for look in dict.fromkeys(looks)] == [5, 5, 5]
    assert [g.get("stroke-width") for g in drawn] == ["2", "1", "1", "1", "1"] * 3


def test_every_mark_is_named_once():
    root = parsed(chart(LINE, marks=(Mark(900, "late"), Mark(20, "early"))))
    assert texts(root).count("late") == texts(root).count("early") == 1


def test_everything_typed_is_text():
    bad = "<script>alert(1)</script>\"'&\x00\x1b"
    picture = svg(
        Chart(
            title=bad,
            description=bad,
            x=Axis(label=bad, unit="tokens"),
            y=Axis(label=bad),
            series=(Series(bad, (Point(1, 1, 0.5, 2),), "markers"), Series(bad, LINE.points)),
            marks=(Mark(5, bad),),
        ),
        ident='f"><script>',
    )
    root = ElementTree.fromstring(picture)
    assert "<script" not in picture
    assert root.find(f"{NAMESPACE}title").text == bad.replace("\x00", "�").replace("\x1b", "�")


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("low", [1e-6, 1, 1e20])
@pytest.mark.parametrize("high", [1e-6, 1, 1e20])
def test_no_range_is_too_wide_or_too_narrow(low, high, log):
    one, two = Series("one", (Point(low, low),)), Series("two", (Point(low, high),) * 3)
    for series in (one, two, Series("three", (Point(high, low, low, high),), "markers")):
        for unit in ("count", "flops", "bytes", "seconds", "percent", "tokens"):
            picture = svg(chart(series, log=log, unit=unit), ident="f")
            ElementTree.fromstring(picture)
            assert "nan" not in picture
            assert "inf" not in picture
            assert len(picture) < 10_000


def test_values_without_a_place_are_refused():
    for wrong in (math.nan, math.inf, 0.0, -1.0):
        with pytest.raises(ShapeError, match="series 'law' needs points, positive on the log"):
            chart(Series("law", (Point(1, wrong),)))
        with pytest.raises(ShapeError, match="mark 'here' needs points, positive on the log"):
            chart(LINE, marks=(Mark(wrong, "here"),))
    with pytest.raises(ShapeError, match="finite on the axis"):
        chart(Series("law", (Point(math.nan, 1),)), log=False)
