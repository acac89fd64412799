"""What a model says of each text, against the text read alone."""

import pickle
from copy import copy

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.batches.small import logits, made, some_texts

from attncost import ShapeError
from attncost.batches.outputs import PackedRow, by_text
from attncost.batches.packing_collator import PackingCollator
from attncost.batches.padding_collator import PaddingCollator
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.padded import Padded

COLLATORS = [
    PaddingCollator(way=Padded(multiple=4)),
    PaddingCollator(side="left", way=Padded(multiple=4)),
    PackingCollator(way=Packed(multiple=4)),
    PackingCollator(),
]
TEXTS = [[5, 6, 7], [], [9, 1], [2], []]


@given(texts=some_texts, collate=st.sampled_from(COLLATORS))
def test_ids_come_back_as_they_went_in(texts, collate):
    batch = collate(texts)
    assert [ids.tolist() for ids in by_text(batch["input_ids"], batch)] == texts


@pytest.mark.parametrize("collate", COLLATORS, ids=str)
def test_outputs_are_those_of_each_text_alone_and_views(collate):
    model, batch = made(), collate(TEXTS)
    outputs = logits(model, batch)
    found = by_text(outputs, batch)
    for one, text in zip(found, TEXTS, strict=True):
        assert one.shape == (len(text), outputs.shape[2])
        assert not text or one._base is not None
        assert one.untyped_storage().data_ptr() == outputs.untyped_storage().data_ptr()
        if text:
            alone = logits(model, PackingCollator()([text]))[0]
            torch.testing.assert_close(one.mean(0), alone.mean(0), atol=1e-6, rtol=0)


def test_a_packed_row_for_a_model_knows_its_texts_and_a_copy_of_it_says_that_it_does_not():
    ids = torch.tensor([[5, 6, 7, 9, 1, 2, 0, 0]])
    row = PackedRow({"input_ids": ids, "cu_seq_lens_q": [0, 3, 5, 6, 8]}, lengths=(3, 0, 2, 1, 0))
    sent = pickle.loads(pickle.dumps(row))
    for batch in (row, copy(row), sent):
        assert [text.tolist() for text in by_text(ids, batch)] == TEXTS
    for one in (dict(row), PackedRow(row)):
        with pytest.raises(ShapeError, match=r"cu_seq_lens_q says neither .* got a copy"):
            by_text(ids, one)


def test_a_mask_of_a_tokenizer_may_be_boolean_and_come_alone():
    outputs = torch.arange(6).view(2, 3)
    mask = torch.tensor([[False, True, True], [True, True, False]])
    found = by_text(outputs, {"attention_mask": mask})
    assert [x.tolist() for x in found] == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("outputs", "batch", "reason"),
    [
        ((2, 3), {"input_ids": torch.zeros(2, 3)}, "by lengths and segments .* got input_ids"),
        ((2, 3), {}, "got nothing"),
        ((2, 4, 5), {"attention_mask": torch.ones(2, 3)}, r"must have \(2, 3\) as .*\(2, 4, 5\)"),
        ((1, 4), PackingCollator()([[1, 2], [3]]), r"must have \(1, 3\) as .* got \(1, 4\)"),
        ((2, 3), {"attention_mask": torch.tensor([[1, 1, 0], [1, 0, 1]])}, "got row 1 with hidden"),
    ],
)
def test_what_belongs_to_another_batch_is_refused(outputs, batch, reason):
    with pytest.raises(ShapeError, match=reason):
        by_text(torch.zeros(outputs), batch)
