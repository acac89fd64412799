import pytest

from attncost.core.errors import ShapeError
from attncost.core.spelling import assignments, whole


@pytest.mark.parametrize("text", ["", "-", "--3", "3.0", "1e3", " 3", "+3", "٣", "3-"])
def test_what_is_no_whole_number_is_none(text):
    assert whole(text) is None


def test_names_are_given_once_and_numbers_are_whole():
    assert assignments("", of="window") == {}
    assert assignments("width=-3", of="window") == {"width": -3}
    with pytest.raises(ShapeError, match=r"width of window must be a whole number, .* got '--3'"):
        assignments("width=--3", of="window")
    with pytest.raises(ShapeError, match="width of window is given twice, as 3 and 4"):
        assignments("width=3,width=4", of="window")
