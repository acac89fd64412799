"""Margins that make no sense are refused."""

import pytest
from tests.measure.laws.laws import article

from attncost import ShapeError
from attncost.measure.laws.law import Margins


@pytest.mark.parametrize(
    ("margins", "reason"),
    [
        ({"tolerance": 0.0}, "between 0 and 1, such as 0.05, got 0"),
        ({"tolerance": 5.0}, "between 0 and 1, such as 0.05, got 5"),
        ({"rounding": -1.0}, "at least 0"),
        ({"speeds": 0.5}, "at least 1"),
    ],
)
def test_margins_must_make_sense(margins, reason):
    with pytest.raises(ShapeError, match=reason):
        Margins(**margins)


def test_rounding_must_leave_something_of_every_time():
    with pytest.raises(ShapeError, match="rounding must be less than every time"):
        article(margins=Margins(rounding=0.6e-3))
