import re
from importlib.resources import files

import numpy as np
import pytest

from attncost.view.maps.pictures.colours import STOPS, coloured, rgb
from attncost.view.maps.pictures.scale import Number, Scale


def test_the_page_has_the_same_colours():
    script = files("attncost.view.maps").joinpath("page/30_colours.js").read_text(encoding="utf-8")
    (stops,) = re.findall(r"const STOPS = \[(.*?)\]", script, re.DOTALL)
    assert tuple(re.findall(r"#[0-9a-f]{6}", stops)) == STOPS


def test_a_scale_leaves_one_cell_in_a_hundred_below_and_one_in_a_thousand_above():
    weights = np.random.default_rng(0).lognormal(-6, 1, 20_000).clip(0, 1)
    scale = Scale.fitted(np.concatenate([weights, np.zeros(5000), np.full(5000, np.nan)]))
    assert (weights < scale.low).mean() == pytest.approx(0.01, abs=1e-4)
    assert (weights > scale.high).mean() == pytest.approx(0.001, abs=1e-4)


@pytest.mark.parametrize(
    ("weights", "ends"),
    [
        ([0.5, 0.5], (0.125, 0.5)),
        ([1.0, 0.9], (0.25, 1.0)),
        ([1e-9, 1e-8], (1e-6, 4e-6)),
        ([1e-9] * 99 + [1.01] * 900, (1e-6, 1.0)),
        ([0.0, float("nan")], (1e-6, 1.0)),
    ],
)
def test_ends_lie_a_factor_of_four_apart_and_between_a_millionth_and_one(weights, ends):
    scale = Scale.fitted(np.array(weights))
    assert (scale.low, scale.high) == pytest.approx(ends)


def test_the_scale_of_few_cells_reaches_their_least_and_largest():
    scale = Scale.fitted(np.array([0.5, 0.01, 0.3, 0.04, 0.15]))
    assert scale == Scale(0.01, 0.5)


def test_equal_factors_are_equal_steps_of_colour():
    scale = Scale(1e-4, 0.01)
    found = coloured(np.geomspace(1e-4, 0.01, len(STOPS)), scale)
    np.testing.assert_array_equal(found, [rgb(stop) for stop in STOPS])
    np.testing.assert_array_equal(coloured(np.array([0, 1e-5, 0.5]), scale), found[[0, 0, -1]])


@pytest.mark.parametrize(
    ("low", "high", "numbers"),
    [
        (1e-6, 1, ["10\u207b\u2075", "10\u207b\u2074", "0.001", "0.01", "0.1"]),
        (0.007, 0.25, ["0.03", "0.1"]),
        (0.25, 1, ["0.5"]),
    ],
)
def test_round_numbers_stand_inside_the_scale(low, high, numbers):
    found = Scale(low, high).rounds()
    assert [number.raised for _, number in found] == numbers
    for share, number in found:
        assert low * (high / low) ** share == pytest.approx(float(number.plain))


@pytest.mark.parametrize(
    ("value", "raised", "plain"),
    [
        (1.0, "1", "1"),
        (0.9999, "1", "1"),
        (0.0456, "0.046", "0.046"),
        (0.001, "0.001", "0.001"),
        (0.00099999, "0.001", "0.001"),
        (0.00012, "1.2 \u00b7 10\u207b\u2074", "1.2e-4"),
        (1e-6, "10\u207b\u2076", "1e-6"),
    ],
)
def test_numbers_have_two_digits(value, raised, plain):
    assert Number.of(value) == Number(raised, plain)
