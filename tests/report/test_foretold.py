import pytest
import torch
from tests.measure.speed.machine import BANDWIDTH, PEAK, machine
from torch import nn

from attncost.draw.chart import Chart
from attncost.measure.speed.operation import Layout, Operation, Recording
from attncost.measure.speed.predict import predict, predicted
from attncost.measure.store.summary import Measured
from attncost.report.document import Figure
from attncost.report.foretold import Foretold, predicted_section, time_findings, time_sections
from attncost.report.roofline import roofline

COMMAND = "attncost plan mine --time"


def told(length):
    return predict(nn.Linear(8, 4), machine(), torch.zeros(length, 8))


def foretold(length, time=None):
    return Foretold(work="prefill", length=length, batch=1, time=time or told(length))


def measured(length, seconds):
    return Measured(
        subject="mine",
        length=length,
        rounds=9,
        seconds=seconds,
        low=seconds,
        high=seconds,
        peak_bytes=1,
    )


def test_every_length_has_a_row_with_its_interval_and_its_roofline():
    (section,) = time_sections("mine", [foretold(16), foretold(64)], command=COMMAND)
    rows = section.blocks[0].rows
    assert [row[0] for row in rows] == [16, 64]
    for _, seconds, low, high, bound, used, word in rows:
        assert low <= seconds <= high
        assert bound < seconds
        assert 0 < used < 1
        assert word == ""
    assert section.text == ()


def test_what_is_unpriced_is_named_and_has_no_upper_end():
    layout = Layout((4,), (1,), "float32", 4, 16)
    odd = Operation(name="mylib::odd", args=(layout,), outputs=(layout,))
    time = predicted(Recording((odd,)), machine())
    (section,) = time_sections("mine", [foretold(16, time)], command=COMMAND)
    (sentence,) = section.text
    assert "mylib::odd" in sentence
    assert section.blocks[0].rows[0][3] is None
    (finding,) = time_findings("mine", [foretold(16, time)], command=COMMAND)
    assert "takes at least" in finding.text


def test_predictions_stand_beside_what_was_measured():
    times = {("mine", 16): told(16), ("mine", 64): told(64)}
    cells = [measured(n, times["mine", n].seconds.value / 1.25) for n in (16, 64)]
    chapter = predicted_section([*cells, measured(128, 1.0)], times, command=COMMAND)
    (figure,) = chapter.section.blocks
    assert [row[1] for row in figure.table.rows] == [16, 64]
    assert [row[-1] for row in figure.table.rows] == pytest.approx([0.25, 0.25])
    assert chapter.findings[0].values["median"] == pytest.approx(0.25)
    assert isinstance(figure.chart, Chart)
    assert predicted_section(cells, {}, command=COMMAND) is None


def test_the_roof_bends_where_arithmetic_takes_as_long_as_memory():
    figure = roofline({"layer": told(64)}, machine(), command=COMMAND)
    assert isinstance(figure, Figure)
    roof, *operations = figure.chart.series
    assert (roof.points[1].x, roof.points[1].y) == (PEAK / BANDWIDTH, PEAK)
    assert roof.points[0].y == pytest.approx(roof.points[0].x * BANDWIDTH)
    assert [series.name for series in operations] == ["addmm"]
    ((_, _, intensity, speed, _, share),) = figure.table.rows
    flops, moved = 2 * 64 * 8 * 4, 4 * (64 * 8 + 8 * 4 + 4 + 64 * 4)
    assert intensity == pytest.approx(flops / moved)
    assert share == pytest.approx(speed / min(PEAK, intensity * BANDWIDTH))


def test_nothing_is_drawn_of_calls_without_products():
    time = predict(lambda x: x + 1, machine(), torch.zeros(4))
    assert roofline({"sum": time}, machine(), command=COMMAND) is None
