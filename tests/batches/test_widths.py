"""The best widths, against all sets of widths."""

import random
from functools import cache
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncost import ShapeError
from attncost.batches.widths import best_widths
from attncost.cost.reading import preset


def cost(lengths, widths, price):
    """Return what all rows cost, each as wide as the least width that holds it."""
    return sum(price(min(w for w in widths if w >= n)) for n in lengths)


def least(lengths, count, price):
    """Return the least cost of all sets of widths up to the longest text."""
    longest = max(1, *lengths)
    return min(
        cost(lengths, (*chosen, longest), price)
        for size in range(count)
        for chosen in combinations(range(1, longest), size)
    )


@given(
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=15),
    count=st.integers(1, 5),
    linear=st.integers(0, 50),
    step=st.integers(1, 5),
)
def test_no_widths_cost_less(lengths, count, linear, step):
    def price(width):
        rounded = -(-width // step) * step  # flat within tiles
        return rounded * (linear + rounded)

    widths = best_widths(lengths, count=count, price=price)
    assert list(widths) == sorted(set(widths))
    assert len(widths) <= count
    assert widths[-1] == max(1, *lengths)
    assert cost(lengths, widths, price) == least(lengths, count, price)
    fewer = len(widths) - 1
    assert not fewer or least(lengths, fewer, price) > cost(lengths, widths, price)


def test_a_quadratic_term_moves_widths_up():
    """Long rows are what it makes dear, so more of the widths are long."""
    chance = random.Random(0)
    lengths = [min(512, 1 + int(chance.lognormvariate(4, 1))) for _ in range(3000)]
    flat = best_widths(lengths, count=4, price=lambda n: n)
    steep = best_widths(lengths, count=4, price=lambda n: n * n)
    assert flat[-1] == steep[-1] == max(lengths)
    assert all(a < b for a, b in zip(flat[:-1], steep[:-1], strict=True))
    square = [cost(lengths, widths, lambda n: n * n) for widths in (flat, steep)]
    assert square[1] < 0.95 * square[0]


def test_enough_widths_are_all_lengths_and_one_is_the_longest():
    lengths = [5, 9, 5, 2]
    assert best_widths(lengths, count=9, price=lambda n: n) == (2, 5, 9)
    assert best_widths(lengths, count=1, price=lambda n: n) == (9,)
    assert best_widths(lengths, count=3, price=lambda _: 1) == (9,)
    assert best_widths([0, 0], count=3, price=lambda n: n) == (1,)


def test_a_formula_of_a_model_is_a_price():
    """Two widths for texts that BERT reads: of all pairs of lengths the cheapest."""
    chance, bert = random.Random(0), preset("bert-base")
    lengths = [min(512, 1 + int(chance.lognormvariate(4, 1))) for _ in range(100)]
    pairs = [(n, max(lengths)) for n in {*lengths} - {max(lengths)}]
    price = cache(bert.flops)
    cheapest = min(pairs, key=lambda widths: cost(lengths, widths, price))
    assert best_widths(lengths, count=2, price=price) == cheapest


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"count": 0}, "count must be a whole number of at least 1, got 0"),
        ({"lengths": []}, "best_widths needs a text or more, got none: pass"),
        ({"lengths": [-1, 3]}, "lengths must be whole numbers of at least 0 .* got -1"),
        ({"price": lambda n: -n}, "must not fall as a row gets wider, got -3 for 3 tokens and -5"),
        ({"price": lambda _: float("nan")}, "must not fall as a row gets wider, got nan"),
    ],
)
def test_what_has_no_best_widths_is_refused(given, reason):
    with pytest.raises(ShapeError, match=reason):
        best_widths(**{"lengths": [3, 5], "count": 2, "price": lambda n: n, **given})
