"""The picture of a pattern shows its mask; how it is drawn is tested in `tests/draw`."""

from xml.etree import ElementTree

import pytest
from tests.every import PATTERNS, every_pattern

from attncost import ShapeError, Window

one_of_each = pytest.mark.parametrize(
    "pattern", {type(one): one for one in PATTERNS}.values(), ids=str
)


@every_pattern
@pytest.mark.parametrize(("n", "m"), [(9, 30), (32, 9)])
def test_a_small_picture_shows_every_pair(pattern, n, m):
    rows = pattern.text(n, m).splitlines()
    assert rows == ["".join("·■"[read] for read in row) for row in pattern.mask(n, m).tolist()]


@one_of_each
@pytest.mark.parametrize(("n", "m"), [(1000, 1000), (33, 5000), (5000, 5)])
def test_a_picture_fits_a_terminal_and_a_page(pattern, n, m):
    rows = pattern.text(n, m).splitlines()
    assert len(rows) == min(n, 32)
    assert {len(row) for row in rows} == {min(m, 64)}
    picture = pattern.svg(n, m)
    assert len(picture) <= 40_000
    said = [node.text for node in ElementTree.fromstring(picture)[2:4]]
    assert said == [f"{m:,} keys", f"{n:,} queries"]


@every_pattern
def test_a_notebook_shows_a_small_picture(pattern):
    picture = pattern._repr_svg_()
    assert picture == pattern.svg(64, 64)
    assert len(picture) <= 20_000


@one_of_each
def test_a_million_tokens_have_a_picture(pattern):
    assert len(pattern.text(10**6).splitlines()) == 32


def test_the_keys_are_as_many_as_the_queries_unless_they_are_given():
    assert Window(2).text(3) == "■··\n■■·\n·■■"
    assert Window(2).text(1, 3) == "·■■"
    for n, m in ((0, None), (3, 0), (-2, 3)):
        with pytest.raises(ShapeError, match="a picture needs at least 1 query and 1 key"):
            Window(2).text(n, m)
        with pytest.raises(ShapeError, match="a picture needs at least 1 query and 1 key"):
            Window(2).svg(n, m)
