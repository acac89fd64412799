from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncost import ShapeError
from attncost.batches.ways.bucketed import Bucketed
from attncost.batches.ways.budgeted import Budgeted


def fewest(lengths, slots):
    """Return the fewest batches of all that keep to a budget, by trying them."""

    @cache
    def of(rest):
        if not rest:
            return 0
        best = len(lengths)
        # All sets of texts with the first of those that are left.
        for others in range(1 << (len(rest) - 1)):
            chosen = [True, *(others >> i & 1 for i in range(len(rest) - 1))]
            texts = [text for text, taken in zip(rest, chosen, strict=True) if taken]
            if len(texts) == 1 or len(texts) * max(lengths[i] for i in texts) <= slots:
                left = tuple(text for text in rest if text not in texts)
                best = min(best, 1 + of(left))
        return best

    return of(tuple(range(len(lengths))))


@given(lengths=st.lists(st.integers(0, 9), min_size=1, max_size=6), slots=st.integers(1, 24))
def test_no_batches_that_keep_to_the_budget_are_fewer(lengths, slots):
    batches = Budgeted(slots).batches(lengths, range(len(lengths)))
    assert len(batches) == fewest(lengths, slots)


@given(
    lengths=st.lists(st.integers(0, 90), max_size=40),
    slots=st.integers(8, 300),
    multiple=st.integers(1, 8),
)
def test_one_more_text_of_the_pool_would_be_beyond_the_budget(lengths, slots, multiple):
    way = Budgeted(slots, pool=40 * 96, multiple=multiple)  # of all texts
    batches = way.batches(lengths, range(len(lengths)))
    for batch in batches[:-1]:
        rows = batch.layout(lengths)
        assert rows.slots + rows.width > slots


@given(
    lengths=st.lists(st.integers(0, 90), max_size=60),
    pool=st.integers(1, 4),
    multiple=st.sampled_from([1, 32]),
)
def test_a_pool_is_the_texts_of_so_many_budgets_in_order(lengths, pool, multiple):
    way = Budgeted(100, pool=pool, multiple=multiple)
    batches = way.batches(lengths, range(len(lengths)))
    rounded = [-(-n // multiple) * multiple for n in lengths]
    texts = [text for batch in batches for text in batch.texts]
    first = 0
    while first < len(texts):
        last = first
        while last < len(texts) and sum(rounded[first : last + 1]) <= 100 * pool:
            last += 1
        assert sorted(texts[first:last]) == [*range(first, last)]
        first = last


@pytest.mark.parametrize("pool", [10, 50])
def test_a_pool_is_about_as_many_batches_as_a_pool_of_buckets(pool):
    """So that both leave as much to chance: of 64 tokens on average, 64 texts are 4,096 slots."""
    lengths = [1 + 97 * i % 127 for i in range(64 * pool)]
    order = range(len(lengths))
    assert len(Bucketed(64, pool).batches(lengths, order)) == pool
    assert pool <= len(Budgeted(4096, pool).batches(lengths, order)) <= 1.2 * pool


def test_texts_without_tokens_need_no_slots_however_many_they_are():
    lengths = [0] * 1000 + [3]
    first, second = Budgeted(6).batches(lengths, range(1001))
    assert first.texts == (1000, 0)  # a row each: the second is as wide as the first
    assert second.texts == tuple(range(1, 1000))


def test_a_row_that_is_rounded_up_counts_with_its_padding():
    batches = Budgeted(32, multiple=16).batches([3, 4, 5, 17], range(4))
    assert [batch.texts for batch in batches] == [(3,), (2, 1), (0,)]
    assert [batch.layout([3, 4, 5, 17]).slots for batch in batches] == [32, 32, 16]


@pytest.mark.parametrize(
    ("dials", "reason"),
    [
        ({"slots": 0}, "slots must be a whole number of at least 1, got 0"),
        ({"pool": -1}, "pool must be a whole number of at least 1, got -1"),
        ({"slots": 7, "multiple": 8}, "slots must hold a row of multiple = 8 slots, got 7"),
    ],
)
def test_a_budget_that_holds_no_row_is_refused(dials, reason):
    with pytest.raises(ShapeError, match=reason):
        Budgeted(**dials)
