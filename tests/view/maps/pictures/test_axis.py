import sys
from itertools import pairwise

import pytest

from attncost.draw.lettering import width
from attncost.view.maps.pictures.axis import Axis, short, sizes


def _calls_of(work, *arguments):
    """Return how many functions of Python are called."""
    calls = []
    sys.setprofile(lambda _, event, __: calls.append(event) if event == "call" else None)
    try:
        work(*arguments)
    finally:
        sys.setprofile(None)
    return len(calls)


@pytest.mark.parametrize("letter", ["a", "\u7537", " "])
def test_the_work_of_cutting_a_name_does_not_grow_faster_than_the_name(letter):
    once, tenfold = (_calls_of(short, letter * count) for count in (1000, 10_000))
    assert tenfold <= 5 * 10 * once
    assert once <= 5 * 1000 * 5


@pytest.mark.parametrize("letter", ["W", "i", "\u7537"])
def test_names_are_cut_where_the_room_ends(letter):
    most = next(count for count in range(1, 200) if short(letter * count) != letter * count)
    assert short(letter * 10_000) == short(letter * most)
    assert short(letter * most).endswith("\u2026")
    assert 120 < max(width(short(letter * most)), 6 * len(short(letter * most))) <= 150


def test_spaces_of_names_can_be_seen():
    assert short("\u2581a b\n\t") == "\u2423a\u2423b\u21b5\u21e5"
    assert short("a\u0120") == "a\u0120"


@pytest.mark.parametrize("length", [2, 12, 128, 2000, 1_000_000])
def test_places_are_round_and_apart(length):
    cells = -(-length // -(-length // 128))
    axis = Axis(cells=cells, cell=sizes(cells, cells)[0], length=length, what=("key", "keys"))
    labels = axis.labels()
    places = [int(label.text.replace(",", "")) for label in labels]
    assert len({b - a for a, b in pairwise(places)}) == 1
    assert str(places[1]).strip("0") in {"1", "2", "5"}
    assert all(0 <= label.at <= axis.room for label in labels)
    gaps = [b.at - a.at for a, b in pairwise(labels)]
    assert min(gaps) >= width(labels[-1].text)


def test_the_marked_place_has_a_label_and_none_close_to_it():
    axis = Axis(cells=128, cell=4, length=512, what=("query", "queries"), marked=203)
    labels = axis.labels()
    (marked,) = (label for label in labels if label.marked)
    assert marked.text == "203"
    assert all(abs(label.at - marked.at) >= 13 for label in labels if label != marked)


@pytest.mark.parametrize(
    ("cells", "size"),
    [((12, 12), (24, 24)), ((128, 128), (4, 4)), ((100, 128), (4, 4)), ((100, 20), (5, 24))],
)
def test_cells_are_square_unless_one_side_has_many_more(cells, size):
    assert sizes(*cells) == size
