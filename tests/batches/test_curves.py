from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncost import ShapeError
from attncost.batches.curves import Curves
from attncost.batches.machine import AT_ONCE, Looping, Machine

LINE = ((1, 1.0), (100, 2.0))


def doubling(seconds, *, longest=4096):
    return tuple((n, seconds(n)) for n in (1 << i for i in range(longest.bit_length())))


curves = st.lists(
    st.tuples(st.integers(1, 10**6), st.floats(1e-9, 1e3)),
    min_size=1,
    max_size=8,
    unique_by=lambda point: point[0],
).map(lambda points: tuple(sorted(points)))


def test_it_is_a_machine_with_a_name():
    machine = Curves("a model here", rest=LINE, attend=LINE)
    assert isinstance(machine, Machine)
    assert machine.name == "a model here"
    assert machine.packed == AT_ONCE == (0, 0)
    looping = Looping(row=0.3, text=0.1)
    assert Curves("m", rest=LINE, attend=LINE, packed=looping).packed is looping
    with pytest.raises(ShapeError, match=r"packed must be .* got \(0.1, -0.1\): leave it out"):
        Curves("m", rest=LINE, attend=LINE, packed=Looping(0.1, -0.1))


def test_it_knows_one_curve_whatever_the_mask():
    machine = Curves("m", rest=LINE, attend=LINE)
    assert machine.attend(50, dense=True) == machine.attend(50)


def test_rest_is_straight_between_points_and_beyond_the_last():
    points = ((10, 1.0), (20, 3.0), (60, 3.5))
    machine = Curves("m", rest=points, attend=LINE)
    between = [machine.rest(n) for n in (10, 15, 20, 40, 60)]
    assert between == pytest.approx(np.interp((10, 15, 20, 40, 60), *zip(*points, strict=True)))
    assert machine.rest(100) == pytest.approx(3.5 + 0.5)
    # The line through the first two points reaches 0 at 5 slots.
    assert [machine.rest(n) for n in (7, 5, 1)] == pytest.approx([0.4, 0, 0])


@pytest.mark.parametrize("power", [0.5, 1, 2, 3])
def test_a_power_of_the_length_is_exact_from_the_first_point_to_the_last(power):
    machine = Curves("m", rest=LINE, attend=doubling(lambda n: 3e-9 * n**power))
    for n in (1, 3, 77, 1000, 4095, 4096):
        assert machine.attend(n) == pytest.approx(3e-9 * n**power)
    # Beyond, it is taken for a square.
    assert machine.attend(8192) == pytest.approx(4 * 3e-9 * 4096**power)


def test_a_start_and_a_square_are_over_by_six_percent_at_most_between_doubled_points():
    for start in (1e-6, 1e-4, 1e-2):

        def true(n, start=start):
            return start + 1e-9 * n**2

        machine = Curves("m", rest=LINE, attend=doubling(true))
        over = [machine.attend(n) / true(n) for n in range(1, 4097)]
        assert min(over) > 0.999999
        assert 1.01 < max(over) < 1.061


@given(rest=curves, attend=curves)
def test_more_never_takes_less(rest, attend):
    machine = Curves("m", rest=rest, attend=attend)
    sizes = sorted({*np.geomspace(1, 3e6, 60).astype(int).tolist(), *(n for n, _ in rest + attend)})
    for curve, points in ((machine.rest, rest), (machine.attend, attend)):
        seconds = [curve(n) for n in sizes]
        assert all(0 <= a <= b * (1 + 1e-9) for a, b in pairwise(seconds))
        # A point counts as the highest one so far.
        for i, (n, _) in enumerate(points):
            assert curve(n) == pytest.approx(max(time for _, time in points[: i + 1]))


def test_a_single_point_is_a_proportion_and_a_square():
    machine = Curves("m", rest=((100, 2.0),), attend=((100, 2.0),))
    assert (machine.rest(50), machine.rest(200)) == pytest.approx((1, 4))
    assert (machine.attend(50), machine.attend(200)) == pytest.approx((0.5, 8))
    assert machine.attend(0) == 0


@pytest.mark.parametrize(
    "points", [(), ((0, 1.0),), ((5, 1.0), (5, 2.0)), ((5, 0.0),), ((5, float("nan")),)]
)
@pytest.mark.parametrize("curve", ["rest", "attend"])
def test_what_is_no_curve_is_refused(points, curve):
    with pytest.raises(ShapeError, match=rf"^{curve} must be .* got .*: leave out what") as error:
        Curves("m", **{"rest": LINE, "attend": LINE, curve: points})
    assert "\n" not in str(error.value)
