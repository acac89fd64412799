"""A loop with a sampler of its own gets each text once in every epoch, from as many items."""

from random import Random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.batches.group import in_group
from torch.utils.data import DataLoader, SequentialSampler, Subset, TensorDataset
from transformers import BatchEncoding

from attncost.batches import ways
from attncost.batches.dataset import BatchedDataset
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.padded import Padded
from attncost.core.errors import ShapeError

any_way = st.sampled_from([way for name in ways.names() for way in ways.load(name).examples()])
SKEWED = [int(Random(i).lognormvariate(3, 1)) + 1 for i in range(60)]


def examples(lengths):
    return [{"input_ids": [number] * length} for number, length in enumerate(lengths)]


def texts(batches):
    return [[example["input_ids"][0] for example in batch] for batch in batches]


def flat(batches):
    return [text for batch in batches for text in batch]


@given(
    lengths=st.lists(st.integers(0, 40), min_size=1, max_size=30),
    way=any_way,
    shuffle=st.booleans(),
    ranks=st.integers(1, 7),
)
def test_each_text_is_in_one_item_and_all_epochs_have_as_many_which_the_ranks_divide(
    lengths, way, shuffle, ranks
):
    dataset = BatchedDataset(range(len(lengths)), way, lengths=lengths, shuffle=shuffle)
    ranks = min(ranks, len(lengths))
    # It may be made before the group is.
    with in_group(rank=0, ranks=ranks):
        many = len(dataset)
        assert many % ranks == 0
        for epoch in range(4):
            dataset.set_epoch(epoch)
            assert len(dataset) == many
            assert sorted(flat(dataset)) == list(range(len(lengths)))
            with pytest.raises(IndexError):
                dataset[many]


@pytest.mark.parametrize("seed", range(4))
def test_packs_differ_from_epoch_to_epoch_and_come_again(seed):
    dataset = BatchedDataset(examples(SKEWED), Packed(100), seed=seed)
    orders = []
    for epoch in (0, 1, 2, 3, 0):
        dataset.set_epoch(epoch)
        orders.append(texts(dataset))
    assert orders[0] == orders[-1]
    known = set()
    for order in orders[:-1]:
        packs = {frozenset(batch) for batch in order if len(batch) > 1}
        assert len(packs & known) < len(packs) / 4
        known |= packs


def test_where_no_order_fits_into_as_many_items_the_batches_of_the_first_epoch_come_again():
    # Twenty packs hold them if no two short ones come together, which few orders see to.
    short_and_long = examples([6, 4] * 20)
    datasets = (BatchedDataset(short_and_long, Packed(10), seed=seed) for seed in range(100))
    dataset = next(dataset for dataset in datasets if len(dataset) == 20)
    first = texts(dataset)
    orders = []
    for epoch in range(1, 9):
        dataset.set_epoch(epoch)
        orders.append(texts(dataset))
        assert len(orders[-1]) == 20
    again = [order for order in orders if sorted(order) == sorted(first)]
    assert 0 < len(again) < 8
    assert first not in again


def test_an_order_that_needs_more_items_is_drawn_again_before():
    # Without another draw two epochs of five have the batches of the first.
    again = 0
    for seed in range(5):
        dataset = BatchedDataset(examples([6, 4] * 20), Packed(10), seed=seed)
        first = sorted(texts(dataset))
        for epoch in range(1, 6):
            dataset.set_epoch(epoch)
            again += sorted(texts(dataset)) == first
    assert again <= 5


def test_items_of_a_step_cost_alike_on_all_ranks():
    dataset = BatchedDataset(examples(SKEWED), Padded(4))
    with in_group(rank=1, ranks=3):
        longest = [max(SKEWED[text] for text in batch) for batch in texts(dataset)]
    assert len(longest) == 15
    taken = sum(max(longest[i : i + 3]) for i in range(0, 15, 3))
    assert taken == sum(sorted(longest)[2::3])
    assert longest != sorted(longest)


def test_without_shuffling_items_are_the_batches_as_the_way_makes_them():
    dataset = BatchedDataset(examples(SKEWED), Packed(100), shuffle=False)
    dataset.set_epoch(3)
    made = Packed(100).batches(SKEWED, range(len(SKEWED)))
    assert texts(dataset) == [list(batch.texts) for batch in made]


def first(batches):
    (batch,) = batches
    return [example["input_ids"][0] for example in batch]


@pytest.mark.parametrize("workers", [0, 2])
def test_workers_that_outlive_an_epoch_are_told_of_the_next(workers):
    dataset = BatchedDataset(examples(SKEWED), Packed(100))
    loader = DataLoader(
        dataset,
        batch_size=1,
        sampler=SequentialSampler(dataset),
        collate_fn=first,
        num_workers=workers,
        persistent_workers=workers > 0,
    )
    for epoch in (0, 1, 2):
        dataset.set_epoch(epoch)
        assert list(loader) == texts(dataset)
        assert sorted(flat(loader)) == list(range(len(SKEWED)))


def test_a_dataset_that_reads_many_examples_at_once_is_asked_once_a_batch():
    asked = []

    class Table(Subset):
        def __getitems__(self, numbers):
            asked.append(numbers)
            return super().__getitems__(numbers)

    table = Table(range(6), range(6))
    dataset = BatchedDataset(table, Padded(3), lengths=[1] * 6, shuffle=False)
    assert list(dataset) == [[0, 1, 2], [3, 4, 5]]
    assert asked == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("kind", [list, tuple, np.array, torch.tensor])
def test_lengths_are_those_of_input_ids_of_any_kind(kind):
    dataset = BatchedDataset([{"input_ids": kind(list(range(n)))} for n in (5, 0, 2)], Packed(5))
    assert sorted(sum(len(one["input_ids"]) for one in batch) for batch in dataset) == [2, 5]
    dataset = BatchedDataset([kind(list(range(n))) for n in (5, 0, 2)], Packed(5))
    assert sorted(sum(map(len, batch)) for batch in dataset) == [2, 5]


@pytest.mark.parametrize(
    ("example", "reason"),
    [
        ({"text": "a", "label": 1}, "example 1 must have input_ids, got text, label: turn"),
        ({}, "example 1 must have input_ids, got nothing"),
        ("a text", "an axis of tokens, got str"),
        ({"input_ids": torch.ones(1, 3)}, r"got \(1, 3\): leave out return_tensors=, or pass"),
        ({"input_ids": [[1, 2]]}, "an axis of tokens, got list"),
        ({"input_ids": "a text"}, "an axis of tokens, got str"),
        ({"input_ids": 3}, "an axis of tokens, got int"),
    ],
)
def test_examples_without_lengths_are_refused_by_number(example, reason):
    with pytest.raises(ShapeError, match=reason) as error:
        BatchedDataset([{"input_ids": [1]}, example], Padded())
    assert "\n" not in str(error.value)


def test_lengths_of_other_texts_and_no_texts_are_refused():
    with pytest.raises(ShapeError, match="lengths must be those of the 2 examples, got 3"):
        BatchedDataset([0, 0], Padded(), lengths=[1, 2, 3])
    with pytest.raises(ShapeError, match="got 0 texts for 1 ranks"):
        BatchedDataset([], Padded())
    dataset = BatchedDataset([0, 0], Padded(), lengths=[1, 2])
    with in_group(rank=0, ranks=3), pytest.raises(ShapeError, match="got 2 texts for 3 ranks"):
        len(dataset)


def test_a_tuple_around_the_ids_is_not_one_token():
    ids = torch.ones(3, 7, dtype=torch.long)
    assert len(BatchedDataset([*ids], Padded(1))) == 3
    with pytest.raises(ShapeError, match=r"input_ids of example 0 must be a list .* got tuple"):
        BatchedDataset(TensorDataset(ids), Padded(1))


@pytest.mark.parametrize("kind", [dict, BatchEncoding])
def test_columns_are_no_examples(kind):
    with pytest.raises(ShapeError, match=r"got columns \(\w+\): pass \[{'input_ids': ids}"):
        BatchedDataset(kind({"input_ids": [[1, 2], [3]]}), Padded(1))
    named = {0: [1, 2], 1: [3]}
    assert len(BatchedDataset(named, Padded(1))) == 2
