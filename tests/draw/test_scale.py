import pytest

from attncost.draw.scale import Scale, domain


def test_equal_factors_are_equal_steps_on_a_logarithmic_axis():
    scale = Scale(low=1, high=10_000, start=0, end=400, log=True)
    assert [scale(v) for v in (1, 10, 100, 1000, 10_000)] == pytest.approx([0, 100, 200, 300, 400])


def test_equal_differences_are_equal_steps_on_a_linear_axis_that_points_up():
    scale = Scale(low=-10, high=30, start=200, end=0, log=False)
    assert [scale(v) for v in (-10, 0, 10, 30)] == pytest.approx([200, 150, 100, 0])


VALUES = [[1e-6, 1e20], [7], [0], [-3, -3], [0, 0, 0], [1, 2, 3], [1e20, 1e20 + 1], [-5, 4]]


@pytest.mark.parametrize("values", VALUES)
@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("zero", [True, False])
def test_every_value_lies_inside_its_domain_which_is_never_empty(values, log, zero):
    if log and min(values) <= 0:
        values = [abs(v) + 1 for v in values]
    low, high = domain(values, log=log, zero=zero)
    assert low < high
    assert low <= min(values) <= max(values) <= high
    scale = Scale(low=low, high=high, start=10, end=410, log=log)
    assert all(10 <= scale(v) <= 410 for v in values)


def test_a_linear_axis_starts_at_zero_unless_the_values_are_far_from_it():
    assert domain([0, 100], log=False, zero=True)[0] == 0
    assert domain([40, 100], log=False, zero=True)[0] == 0
    assert 95 < domain([98, 100], log=False, zero=True)[0] < 98
    assert 30 < domain([40, 100], log=False)[0] < 40
