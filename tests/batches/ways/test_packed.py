"""Packs: how full they are, against the fewest there can be, and where their texts come from."""

import random
from bisect import bisect_left, insort
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncost import ShapeError
from attncost.batches.waste import waste_of
from attncost.batches.ways.packed import Packed

OPEN = 32
TOKENS = 2048


def packs(lengths, tokens, **dials):
    batches = Packed(tokens, **dials).batches(lengths, range(len(lengths)))
    return [batch.texts for batch in batches]


def fewest(lengths, tokens):
    """Return the fewest packs of all, by trying them."""
    if not lengths:
        return 0
    first, others = lengths[0], lengths[1:]
    best = len(lengths)
    for size in range(len(others) + 1):
        for chosen in combinations(range(len(others)), size):
            if first + sum(others[i] for i in chosen) <= tokens:
                rest = [n for i, n in enumerate(others) if i not in chosen]
                best = min(best, 1 + fewest(rest, tokens))
    return best


def next_fit(lengths, tokens):
    """Return how many packs there are if each text goes into the last one or a new one."""
    found, room = 0, -1
    for n in lengths:
        if n > room:
            found, room = found + 1, tokens
        room -= n
    return found


def best_fit_decreasing(lengths, tokens):
    """Return how many packs there are if all texts are sorted, and none is closed."""
    found, rooms = 0, []
    for n in sorted(lengths, reverse=True):
        best = bisect_left(rooms, n)
        found += best == len(rooms)
        insort(rooms, (tokens if best == len(rooms) else rooms.pop(best)) - n)
    return found


def drawn(name):
    """Return lengths of up to 2,048 tokens."""
    chance = random.Random(0)
    draw = {
        "log-normal, median 55": lambda: chance.lognormvariate(4, 1),
        "power law, median 38": lambda: 20 * chance.paretovariate(1.1),
        "log-normal, median 670": lambda: chance.lognormvariate(6.5, 1),
        "uniform": lambda: chance.uniform(1, TOKENS),
    }[name]
    return [min(TOKENS, max(1, int(draw()))) for _ in range(20_000)]


@given(lengths=st.lists(st.integers(0, 12), max_size=6), tokens=st.integers(12, 20))
def test_packs_are_at_most_so_many_as_best_fit_needs_at_worst(lengths, tokens):
    """1.7 times the fewest, rounded down: Dósa and Sgall 2014."""
    assert len(packs(lengths, tokens)) <= int(1.7 * fewest(lengths, tokens))


@pytest.mark.parametrize(
    ("name", "figures"),
    [
        ("log-normal, median 55", (0.94, 0.999, 1)),
        ("power law, median 38", (0.87, 0.997, 0.999)),
        ("log-normal, median 670", (0.78, 0.98, 1)),
        ("uniform", (0.75, 0.94, 0.99)),
    ],
)
def test_packs_of_one_shape_are_as_full_as_is_said(name, figures):
    lengths = drawn(name)
    found = len(packs(lengths, TOKENS, multiple=TOKENS))
    full = sum(lengths) / TOKENS
    others = next_fit(lengths, TOKENS), best_fit_decreasing(lengths, TOKENS)
    measured = [full / packs for packs in (others[0], found, others[1])]
    assert measured == pytest.approx(figures, abs=0.005)
    # No packs can be fewer than all tokens take, nor than texts of which no two share one.
    assert found <= max(full, sum(2 * n > TOKENS for n in lengths)) / 0.9


@given(lengths=st.lists(st.integers(0, 40), min_size=1, max_size=200), tokens=st.integers(1, 60))
def test_of_packs_that_were_open_together_two_hold_more_than_one_could(lengths, tokens):
    held = [sum(lengths[i] for i in pack) for pack in packs(lengths, tokens)]
    held = [n for n in held if n <= tokens]
    for at, one in enumerate(held):
        assert all(one + other > tokens for other in held[at + 1 : at + OPEN])


@given(lengths=st.lists(st.integers(1, 40), max_size=200))
def test_texts_of_a_pack_come_in_order_and_from_near_each_other(lengths):
    found = packs(lengths, 40)
    firsts = [pack[0] for pack in found]
    assert firsts == sorted(firsts)
    for at, pack in enumerate(found):
        assert [*pack] == sorted(pack)
        # It is closed as the 32nd pack after it is begun.
        assert not firsts[at + OPEN :] or pack[-1] < firsts[at + OPEN]


@pytest.mark.parametrize(("others", "is_open"), [(OPEN - 1, True), (OPEN, False)])
def test_a_pack_is_open_until_so_many_others_are(others, is_open):
    first, *_, last = packs([30, *[35] * others, 10], 40)
    assert first == ((0, others + 1) if is_open else (0,))
    assert last == ((others,) if is_open else (others + 1,))


def test_a_text_goes_where_it_leaves_least_room():
    assert packs([5, 7, 6, 3, 4], 10) == [(0,), (1, 3), (2, 4)]


def test_a_pack_is_padded_at_its_end_alone_and_only_if_rows_are_rounded_up():
    lengths = drawn("log-normal, median 55")
    for multiple, most in ((1, 0), (8, 8 / 1000), (TOKENS, 0.01)):
        batches = Packed(TOKENS, multiple=multiple).batches(lengths, range(len(lengths)))
        rows = [batch.layout(lengths) for batch in batches]
        assert waste_of(rows).wasted_tokens <= most
    assert {row.width for row in rows} == {TOKENS}


def test_a_row_stays_within_its_tokens_where_they_are_no_multiple():
    lengths = [50, 40, 10]
    batches = Packed(100, multiple=64).batches(lengths, range(3))
    assert [batch.texts for batch in batches] == [(0, 2), (1,)]
    assert [batch.layout(lengths).width for batch in batches] == [64, 64]


def test_a_text_without_tokens_fills_no_pack_and_one_too_long_shares_none():
    lengths = [0, 5, 9, 0, 5, 0]
    assert packs(lengths, 5) == [(0, 1, 3, 5), (2,), (4,)]


@pytest.mark.parametrize(
    ("dials", "reason"),
    [
        ({"tokens": 0}, "tokens must be a whole number of at least 1, got 0"),
        ({"tokens": 7, "multiple": 8}, "tokens must hold a row of multiple = 8 slots, got 7"),
    ],
)
def test_a_budget_that_holds_no_row_is_refused(dials, reason):
    with pytest.raises(ShapeError, match=reason):
        Packed(**dials)
