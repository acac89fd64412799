import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.utils.rnn import pad_sequence

from attncost.batches.batch import Batch
from attncost.batches.rows import Rows
from attncost.batches.waste import waste_of
from attncost.batches.ways.padded import Padded
from attncost.core.errors import ShapeError

some_lengths = st.lists(st.integers(0, 40), min_size=1, max_size=30)


def padded(lengths, order, **dials):
    return waste_of(batch.layout(lengths) for batch in Padded(**dials).batches(lengths, order))


@given(lengths=some_lengths, size=st.integers(1, 9))
def test_slots_and_pairs_are_those_of_the_padded_tensors(lengths, size):
    batches = [
        pad_sequence([torch.ones(n) for n in lengths[i : i + size]], batch_first=True)
        for i in range(0, len(lengths), size)
    ]
    waste = padded(lengths, range(len(lengths)), size=size)
    assert waste.slots == sum(batch.numel() for batch in batches)
    assert waste.tokens == sum(int(batch.sum()) for batch in batches)
    scores = [batch[:, :, None] * batch[:, None, :] for batch in batches]
    assert waste.multiplied == sum(score.numel() for score in scores)
    assert waste.pairs == sum(int(score.sum()) for score in scores)


@given(lengths=some_lengths, size=st.integers(1, 9), chance=st.randoms())
def test_sorting_wastes_no_more_than_chance_where_all_batches_are_full(lengths, size, chance):
    lengths = [n + i for n in lengths for i in range(size)]
    order = list(range(len(lengths)))
    chance.shuffle(order)
    drawn = padded(lengths, order, size=size)
    ordered = padded(lengths, sorted(order, key=lengths.__getitem__), size=size)
    assert ordered.slots <= drawn.slots
    assert ordered.multiplied <= drawn.multiplied


@given(rows=st.lists(st.lists(st.integers(1, 9), min_size=2, max_size=5), min_size=1, max_size=4))
def test_pairs_of_packed_texts_are_those_of_the_block_diagonal_mask(rows):
    width = max(map(sum, rows))
    apart, masked = (
        waste_of([Rows(tuple(map(tuple, rows)), width)], documents=how)
        for how in ("apart", "masked")
    )
    # Each row with its padding as one more text, as a mask of blocks on the diagonal.
    blocks = [torch.block_diag(*(torch.ones(n, n) for n in row)) for row in rows]
    ends = [(width - sum(row)) ** 2 for row in rows]
    assert apart.pairs == masked.pairs == sum(int(block.sum()) for block in blocks)
    assert apart.multiplied == apart.pairs + sum(ends)
    assert masked.multiplied == len(rows) * width**2
    assert apart.slots == masked.slots == len(rows) * width


def test_a_text_a_batch_wastes_nothing_and_no_text_either():
    assert padded([3, 9, 4], range(3), size=1).times_pairs == 1
    nothing = padded([0, 0], range(2), size=2)
    assert (nothing.wasted_tokens, nothing.times_pairs) == (0, 1)


def test_rows_are_rounded_up_and_texts_come_in_the_order_of_the_rows():
    batch = Batch(((2, 0), (1,)), multiple=8)
    assert batch.texts == (2, 0, 1)
    assert batch.layout([4, 9, 6]) == Rows(((6, 4), (9,)), width=16)
    assert Batch(((0,),)).layout([0]) == Rows(((),), width=0)


@pytest.mark.parametrize("dials", [{"size": 0}, {"multiple": -1}, {"multiple": True}])
def test_a_dial_is_a_whole_number(dials):
    with pytest.raises(ShapeError, match="must be a whole number of at least 1, got"):
        Padded(**dials)
