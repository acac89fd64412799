"""The steps of an epoch, for ranks that share its batches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncost.batches.epoch import steps
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.padded import Padded
from attncost.batches.ways.stepped import Stepped

some_lengths = st.lists(st.integers(0, 50), min_size=1, max_size=20)
some_ways = st.one_of(st.builds(Padded, st.integers(1, 6)), st.builds(Packed, st.integers(1, 100)))


def texts(found):
    return [text for step in found for batch in step for text in batch.texts]


@given(lengths=some_lengths, way=some_ways, ranks=st.integers(1, 20))
def test_each_step_has_a_batch_for_each_rank_and_texts_stay_in_order(lengths, way, ranks):
    ranks = min(ranks, len(lengths))
    found = steps(lengths, way, seed=None, epoch=3, ranks=ranks)
    assert {len(step) for step in found} == {ranks}
    assert all(batch.texts for step in found for batch in step)
    made = way.batches(lengths, range(len(lengths)))
    assert texts(found) == [text for batch in made for text in batch.texts]


@given(lengths=some_lengths, way=some_ways)
def test_halves_of_a_batch_have_no_more_slots_than_it_had(lengths, way):
    made = way.batches(lengths, range(len(lengths)))
    split = steps(lengths, way, seed=None, epoch=0, ranks=len(lengths))

    def slots(batches):
        return sum(batch.layout(lengths).slots for batch in batches)

    assert [len(batch.texts) for step in split for batch in step] == [1] * len(lengths)
    assert slots(batch for step in split for batch in step) <= slots(made)


@pytest.mark.parametrize("way", [Packed(10), Padded(3)])
def test_all_epochs_have_as_many_steps_of_other_batches(way):
    lengths = [6, 4] * 20
    for seed in range(10):
        epochs = [steps(lengths, way, seed=seed, epoch=epoch, ranks=2) for epoch in range(5)]
        assert len({len(found) for found in epochs}) == 1
        assert all(sorted(texts(found)) == list(range(40)) for found in epochs)
        assert len({str(found) for found in epochs}) == 5


def test_joined_batches_of_two_widths_have_the_greater_one():
    # Three batches of one text each, which two ranks share.
    ((one, two),) = steps([4, 15, 60], Stepped((4, 15, 60), 1), seed=None, epoch=0, ranks=2)
    assert (one.rows, one.layout([4, 15, 60]).width) == (((0,), (1,)), 15)
    assert two.rows == ((2,),)
