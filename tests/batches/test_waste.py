import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils.rnn import pad_sequence

from attncost.batches.waste import padded, padded_at_random
from attncost.core.errors import ShapeError

some_lengths = st.lists(st.integers(1, 40), min_size=1, max_size=30)


@given(lengths=some_lengths, batch_size=st.integers(1, 9))
def test_padded_tokens_and_pairs_are_those_of_the_padded_tensors(lengths, batch_size):
    batches = [
        pad_sequence([torch.ones(n) for n in lengths[i : i + batch_size]], batch_first=True)
        for i in range(0, len(lengths), batch_size)
    ]
    waste = padded(lengths, batch_size=batch_size)
    assert waste.padded_tokens == sum(batch.numel() for batch in batches)
    assert waste.tokens == sum(int(batch.sum()) for batch in batches)
    scores = [batch[:, :, None] * batch[:, None, :] for batch in batches]
    assert waste.padded_pairs == sum(score.numel() for score in scores)
    assert waste.pairs == sum(int(score.sum()) for score in scores)


@given(lengths=some_lengths, batch_size=st.integers(1, 9))
def test_sorting_wastes_no_more_than_chance_where_all_batches_are_full(lengths, batch_size):
    lengths = [n + i for n in lengths for i in range(batch_size)]
    chance = padded_at_random(lengths, batch_size=batch_size, shuffles=5)
    ordered = padded(sorted(lengths), batch_size=batch_size)
    assert 5 * ordered.padded_tokens <= chance.padded_tokens
    assert 5 * ordered.padded_pairs <= chance.padded_pairs


def test_one_sequence_a_batch_wastes_nothing_and_chance_is_reproducible():
    assert padded([3, 9, 4], batch_size=1).times_pairs == 1
    first, again = (padded_at_random([3, 9, 4, 1], batch_size=2, seed=7) for _ in range(2))
    assert first == again
    assert first.tokens == 20 * 17


def test_empty_sequences_count_as_nothing():
    waste = padded([0, 0], batch_size=2)
    assert (waste.wasted_tokens, waste.times_pairs) == (0, 1)


@pytest.mark.parametrize(
    ("lengths", "batch_size", "reason"),
    [
        ([], 2, "one or more"),
        ([3, -1], 2, "at least 0"),
        ([3], 0, "batch_size must be at least 1, got 0"),
    ],
)
def test_what_makes_no_batches_is_refused(lengths, batch_size, reason):
    with pytest.raises(ShapeError, match=reason):
        padded(lengths, batch_size=batch_size)
