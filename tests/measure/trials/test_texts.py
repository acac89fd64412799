import random
from statistics import quantiles

import pytest

from attncost.measure.trials.texts import some_texts

LENGTHS = [round(random.Random(i).lognormvariate(3.5, 0.8)) for i in range(1000)]


def test_some_texts_are_distributed_as_all_of_them():
    taken = some_texts(LENGTHS, tokens=sum(LENGTHS) // 8)
    some = [LENGTHS[number] for number in taken]
    assert len(taken) == 125
    assert sum(some) == pytest.approx(sum(LENGTHS) / 8, rel=0.03)
    assert quantiles(some, n=10) == pytest.approx(quantiles(LENGTHS, n=10), rel=0.05)


@pytest.mark.parametrize("tokens", [1, 50, 777, 10_000, 40_000])
def test_each_is_taken_once_in_the_order_of_all(tokens):
    taken = some_texts(LENGTHS, tokens=tokens)
    assert list(taken) == sorted(set(taken))
    assert taken
    assert max(taken) < len(LENGTHS)


def test_all_are_taken_if_there_is_time_for_them():
    assert some_texts([3, 0, 2], tokens=5) == (0, 1, 2)
    assert some_texts([], tokens=5) == ()


def test_one_of_many_is_the_middle_one():
    assert some_texts([100, 1, 7], tokens=0) == (2,)


def test_equal_texts_come_from_everywhere():
    taken = some_texts([4] * 100, tokens=40)
    assert taken == (5, 14, 25, 34, 45, 54, 65, 74, 85, 94)


def test_of_pairs_neither_the_longer_nor_the_shorter_is_preferred():
    lengths = list(range(1, 401))
    taken = some_texts(lengths, tokens=sum(lengths) // 2)
    assert len(taken) == 200
    assert sum(lengths[i] for i in taken) == pytest.approx(sum(lengths) / 2, rel=0.001)
