from itertools import combinations

import numpy as np
import pytest

from attncost.view.maps.pictures.letters import lettered

ASCII = "".join(map(chr, range(32, 127)))
FURTHER = "\u2423\u21b5\u21e5\u2026\u2264\u2265"


def test_the_letters_differ_from_each_other_and_from_the_box():
    drawn = {letter: lettered(letter) for letter in ASCII + FURTHER + "\u7537"}
    assert len(ASCII) == 95
    for one, other in combinations(drawn, 2):
        assert (drawn[one] != drawn[other]).any(), one + other


def test_letters_fit_their_cells_with_a_gap_behind():
    for letter in ASCII + FURTHER + "\u7537":
        drawn = lettered(letter)
        assert drawn.shape == (8, 6), letter
        assert not drawn[:, 5].any(), letter
        assert drawn.any() == (letter != " "), letter


def test_letters_stand_side_by_side():
    np.testing.assert_array_equal(lettered("ab"), np.hstack([lettered("a"), lettered("b")]))
    assert lettered("").shape == (8, 0)


def test_letters_with_accents_that_are_not_drawn_lose_them():
    np.testing.assert_array_equal(lettered("\u00fcber"), lettered("uber"))
    assert (lettered("\u7537") != lettered(" ")).any()


@pytest.mark.parametrize(
    ("letter", "shape"),
    [("T", "##### ..#.. ..#.. ..#.. ..#.. ..#.. ..#.. ....."), ("-", "..... " * 4 + "#####")],
)
def test_letters_are_those_that_were_asked_for(letter, shape):
    rows = ["".join("#" if dot else "." for dot in row[:5]) for row in lettered(letter)]
    assert " ".join(rows).startswith(shape)
