import itertools
import math

import pytest

from attncost.draw.chart import Axis
from attncost.draw.scale import Scale
from attncost.draw.ticks import ticks


def labels(low, high, unit, *, log=True, room=25, length=200):
    scale = Scale(low=low, high=high, start=length, end=0, log=log)
    return [t.label for t in ticks(scale, Axis(label="x", unit=unit, log=log), lambda _: room)]


def test_tokens_are_named_in_powers_of_two():
    assert labels(60, 4400, "tokens") == ["64", "128", "256", "512", "1,024", "2,048", "4,096"]
    assert labels(60, 140_000, "tokens", room=40) == ["64", "512", "4,096", "32,768"]
    assert labels(8000, 140_000, "tokens") == ["8,192", "16,384", "32,768", "65,536", "131,072"]


def test_bytes_keep_to_whole_prefixes_when_they_span_many():
    assert labels(2**9, 2**35, "bytes", length=80) == ["1 KiB", "1 MiB", "1 GiB"]


def test_everything_else_is_named_in_powers_of_ten():
    assert labels(8e-6, 0.2, "seconds", room=30) == ["10 µs", "100 µs", "1 ms", "10 ms", "100 ms"]
    assert labels(0.9e6, 2e11, "flops") == ["1 M", "10 M", "100 M", "1 G", "10 G", "100 G"]
    assert labels(0.009, 1.1, "percent") == ["1 %", "2 %", "5 %", "10 %", "20 %", "50 %", "100 %"]


def test_a_short_logarithmic_axis_is_named_like_a_linear_one():
    assert labels(1000, 1500, "tokens") == ["1,000", "1,100", "1,200", "1,300", "1,400", "1,500"]


def test_a_linear_axis_has_exact_round_steps():
    assert labels(0, 0.7, "percent", log=False) == [f"{p} %" for p in range(0, 80, 10)]
    assert labels(0, 2, "times", log=False) == ["0 x", "0.5 x", "1 x", "1.5 x", "2 x"]


@pytest.mark.parametrize("unit", ["count", "flops", "bytes", "seconds", "tokens", "percent"])
@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize(("low", "high"), [(1e-6, 1e20), (3, 3.0001), (0.5, 7), (1, 1e9)])
def test_ticks_stand_where_their_values_are_apart_and_inside(low, high, unit, log):
    scale = Scale(low=low, high=high, start=0, end=300, log=log)
    found = ticks(scale, Axis(label="x", unit=unit, log=log), lambda _: 30)
    places = [tick.at for tick in found]
    assert all(0 <= at <= 300 for at in places)
    assert all(b - a >= 30 - 1e-9 for a, b in itertools.pairwise(places))
    assert len({tick.label for tick in found}) == len(found)


def test_a_tick_stands_at_the_logarithm_of_its_value():
    scale = Scale(low=10, high=10_000, start=0, end=300, log=True)
    found = ticks(scale, Axis(label="x"), lambda _: 60)
    value = {"10": 10, "100": 100, "1 k": 1000, "10 k": 10_000}
    assert [t.label for t in found] == list(value)
    assert [t.at for t in found] == pytest.approx(
        [300 * math.log(value[t.label] / 10) / math.log(1000) for t in found]
    )
