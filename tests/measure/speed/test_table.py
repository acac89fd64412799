import math

import pytest

from attncost.core.errors import ShapeError
from attncost.measure.speed.table import Table


def of(knots, rate, **changes):
    """Return a table that was measured from a law without noise."""
    points = [()]
    for axis in knots:
        points = [(*point, size) for point in points for size in axis]
    rates = tuple(rate(*point) for point in points)
    return Table(**({"start": 0.0, "cold": 0.0, "spread": 0.0} | changes), knots=knots, rates=rates)


def test_a_rate_is_what_was_measured_at_every_knot():
    table = of(((1, 8, 64), (2, 32)), lambda m, k: m + 100 * k)
    for m in (1, 8, 64):
        for k in (2, 32):
            assert table.rate((m, k)) == pytest.approx(m + 100 * k)


def test_a_power_of_each_size_is_read_without_error_between_the_knots():
    table = of(((2, 16, 128), (4, 64)), lambda m, k: 3 * m**0.7 * k**-0.2)
    for m, k in ((2.5, 5), (11, 60), (100, 17)):
        assert table.rate((m, k)) == pytest.approx(3 * m**0.7 * k**-0.2)
    assert table.error == pytest.approx(0, abs=1e-12)


def test_beyond_the_last_knot_the_rate_stays():
    table = of(((2, 16),), float)
    assert table.rate((1,)) == pytest.approx(2)
    assert table.rate((1000,)) == pytest.approx(16)


def test_a_step_between_two_knots_does_not_reach_beyond_them():
    table = of(((32, 191, 192, 1024),), lambda n: 2.0 if n < 192 else 1.0)
    assert table.rate((100,)) == pytest.approx(2)
    assert table.rate((500,)) == pytest.approx(1)


def test_the_error_of_reading_between_knots_is_half_of_what_a_left_out_knot_is_off():
    # The middle one is read as the root of 1 * 4, and is 3.
    table = of(((1, 10, 100),), {1: 1.0, 10: 3.0, 100: 4.0}.get)
    assert table.error == pytest.approx(math.log(3 / 2) / 2)


def test_as_many_rates_are_needed_as_points():
    with pytest.raises(ShapeError, match="a table of 4 points needs as many rates, got 3"):
        Table(start=0.0, cold=0.0, knots=((1, 2), (1, 2)), rates=(1.0,) * 3, spread=0.0)
