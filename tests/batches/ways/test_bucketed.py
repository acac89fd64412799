from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncost import ShapeError
from attncost.batches.waste import waste_of
from attncost.batches.ways.bucketed import Bucketed
from attncost.batches.ways.padded import Padded

some_lengths = st.lists(st.integers(0, 40), min_size=1, max_size=30)


def waste(way, lengths):
    batches = way.batches(lengths, range(len(lengths)))
    return waste_of(batch.layout(lengths) for batch in batches)


@given(lengths=some_lengths, size=st.integers(1, 9))
def test_a_pool_of_one_batch_is_a_batch_as_texts_come(lengths, size):
    order = range(len(lengths))
    pooled, padded = (way.batches(lengths, order) for way in (Bucketed(size, 1), Padded(size)))
    assert [set(batch.texts) for batch in pooled] == [set(batch.texts) for batch in padded]


@given(lengths=some_lengths, size=st.integers(1, 5), pool=st.integers(1, 4))
def test_no_text_leaves_its_pool_and_a_pool_falls_in_length(lengths, size, pool):
    batches = Bucketed(size, pool).batches(lengths, range(len(lengths)))
    texts = [text for batch in batches for text in batch.texts]
    for first in range(0, len(texts), pool * size):
        held = texts[first : first + pool * size]
        assert sorted(held) == [*range(first, first + len(held))]
        assert [lengths[i] for i in held] == sorted((lengths[i] for i in held), reverse=True)


@pytest.mark.parametrize("size", [2, 3])
@given(data=st.data())
def test_a_pool_of_all_wastes_least_of_all_ways_to_fill_batches(size, data):
    """Against every set of full batches of six texts, in slots and in pairs."""
    lengths = data.draw(st.lists(st.integers(0, 20), min_size=6, max_size=6))
    slots, pairs = [], []
    for order in permutations(lengths):
        widths = [max(order[i : i + size]) for i in range(0, 6, size)]
        slots.append(size * sum(widths))
        pairs.append(size * sum(width**2 for width in widths))
    found = waste(Bucketed(size), lengths)
    assert (found.slots, found.multiplied) == (min(slots), min(pairs))


@given(lengths=st.lists(st.integers(1, 500), min_size=64, max_size=64), size=st.integers(1, 4))
def test_padding_of_all_sorted_is_at_most_one_batch_of_the_longest(lengths, size):
    """Each batch but the first is no wider than the shortest text of the one before."""
    lengths = lengths[: len(lengths) // size * size]
    found = waste(Bucketed(size, pool=64), lengths)
    assert found.slots - found.tokens <= size * (max(lengths) - min(lengths))


def test_the_batch_that_needs_most_memory_is_the_first_and_the_smaller_one_the_shortest():
    lengths = [3, 8, 5, 1, 9, 2, 4]
    batches = Bucketed(3).batches(lengths, range(7))
    assert [batch.texts for batch in batches] == [(4, 1, 2), (6, 0, 5), (3,)]


@pytest.mark.parametrize("dials", [{"size": 0}, {"pool": 0}, {"multiple": 0}])
def test_a_dial_is_a_whole_number(dials):
    with pytest.raises(ShapeError, match="must be a whole number of at least 1, got 0"):
        Bucketed(**dials)
