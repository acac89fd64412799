"""A batch has the shape that it was priced by, whatever the way; found by discovery."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader

from attncost.batches import ways
from attncost.batches.packing_collator import PackingCollator
from attncost.batches.padding_collator import PaddingCollator
from attncost.batches.rows import rows_of
from attncost.batches.sampler import BatchSampler
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.stepped import Stepped

WAYS = [one for name in ways.names() for one in ways.load(name).examples()]
MANY = [9, 0, 300, 22, 14, 31, 7, 120, 25, 1] * 10

every_way = pytest.mark.parametrize("way", WAYS, ids=str)


def collator(way):
    return (PackingCollator if way.packs else PaddingCollator)(way=way)


def lying_in(batch):
    """Return what lies in the rows of a collated batch, read off its tensors."""
    if "segments" in batch:
        return rows_of(segments=batch["segments"])
    return rows_of(key_mask=batch["attention_mask"])


@every_way
@given(lengths=st.lists(st.one_of(st.integers(0, 3), st.integers(0, 330)), max_size=30))
@settings(max_examples=10)
def test_rows_are_those_that_were_priced(way, lengths):
    collate = collator(way)
    for batch in way.batches(lengths, range(len(lengths))):
        made = collate([[5] * lengths[text] for text in batch.texts])
        priced = batch.layout(lengths)
        assert made["input_ids"].shape == (len(priced.documents), priced.width)
        assert lying_in(made) == priced


@every_way
def test_a_row_holds_its_tokens_and_a_rounded_row_is_not_rounded_again(way):
    slots = [way.row_slots(tokens) for tokens in range(400)]
    assert slots[0] == 0
    assert slots == sorted(slots)
    assert all(n >= tokens for tokens, n in enumerate(slots))
    assert all(way.row_slots(n) == n for n in slots)


@pytest.mark.parametrize(
    ("way", "widths"),
    [
        (Stepped((31, 120, 300), 16), {31, 120, 300}),
        (Packed(320, multiple=64), {64 * n for n in range(1, 6)}),
        (Packed(320, multiple=320), {320}),
    ],
    ids=str,
)
def test_a_loader_gives_the_few_shapes_that_a_way_promises(way, widths):
    texts = [torch.full((n,), 5) for n in MANY]
    sampler = BatchSampler(MANY, way)
    loader = DataLoader(texts, batch_sampler=sampler, collate_fn=collator(way))
    batches = [batch["input_ids"] for batch in loader]
    assert {ids.shape[1] for ids in batches} <= widths
    assert sum(int((ids == 5).sum()) for ids in batches) == sum(MANY)
    if isinstance(way, Stepped):
        assert {ids.shape[1] for ids in batches} == widths
        assert len({tuple(ids.shape) for ids in batches}) <= 2 * len(widths)
