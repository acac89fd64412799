"""Lines of a text as numbers: what is cut, what is odd, and the order that chance gives them."""

import random

import pytest

from attncost.report.lines import Text


def text(lengths, **more):
    return Text(name="a text", lengths=lengths, unit="words", batch_size=2, **more)


def test_lines_that_are_not_read_like_others_are_all_said():
    said = " ".join(text([5, 0, 1, 12, 9], blank=2).described(8))
    assert "in words between spaces, as there is no tokenizer here: 5 lines of 0 to 8" in said
    assert "median 5, together 22" in said
    assert "1 of 5 texts is without words" in said
    assert "1 of 5 texts is of one word:" in said
    assert "2 of 5 texts are longer than 8 words: cut off there, 5 words are not read" in said
    assert "2 lines of the file are blank, and no text." in said
    assert len(text([5, 6]).described(None)) == 1, "nothing odd, nothing said"


@pytest.mark.parametrize(
    ("lengths", "middle"), [([1_234_567], "1,234,567"), ([2, 3], "2.5"), ([2000, 4000], "3,000")]
)
def test_the_middle_length_has_all_its_digits(lengths, middle):
    assert f", median {middle}, together" in text(lengths).described(None)[0]


def test_lines_are_cut_where_positions_end():
    assert text([5, 12, 0]).kept(8) == (5, 8, 0)
    assert text([5, 12, 0]).kept(None) == (5, 12, 0)


def test_the_usual_order_is_neither_lucky_nor_unlucky():
    chance = random.Random(0)
    lengths = [chance.choice((1, 2, 3, 50)) for _ in range(40)]
    one = text(lengths)

    def pairs(order):
        halves = (order[i : i + 2] for i in range(0, len(order), 2))
        return sum(len(half) * max(lengths[i] for i in half) ** 2 for half in halves)

    order = one.order(None)
    assert sorted(order) == list(range(40))
    assert order == one.order(None), "the same every time"
    others = []
    for _ in range(200):
        shuffled = list(range(40))
        chance.shuffle(shuffled)
        others.append(pairs(shuffled))
    below = sum(other < pairs(order) for other in others) / len(others)
    above = sum(other > pairs(order) for other in others) / len(others)
    assert below < 0.8
    assert above < 0.8


@pytest.mark.parametrize("longest", [None, 4])
def test_the_order_is_one_of_all_lines_however_few(longest):
    assert text([7]).order(longest) == (0,)
