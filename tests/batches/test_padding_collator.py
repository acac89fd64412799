"""Rows of one length against rows written out by hand, and what is no text."""

import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.batches.small import some_texts

from attncost import ShapeError, UnsupportedOption
from attncost.batches.padding_collator import PaddingCollator
from attncost.batches.rows import rows_of
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.padded import Padded


@given(texts=some_texts, side=st.sampled_from(["left", "right"]), multiple=st.integers(1, 9))
def test_a_row_is_a_text_and_padding_up_to_a_multiple_at_least_as_long_as_all(
    texts, side, multiple
):
    batch = PaddingCollator(pad=7, side=side, way=Padded(multiple=multiple))(texts)
    slots = next(n for n in range(0, 99, multiple) if n >= max(map(len, texts)))

    def row(text, filler):
        padding = [filler] * (slots - len(text))
        return padding + text if side == "left" else text + padding

    assert batch["input_ids"].tolist() == [row(text, 7) for text in texts]
    assert batch["attention_mask"].tolist() == [row([1] * len(text), 0) for text in texts]
    assert {x.dtype for x in batch.values()} == {torch.int64}
    assert rows_of(key_mask=batch["attention_mask"]).tokens == sum(map(len, texts))


def test_a_token_with_the_id_of_padding_is_a_token():
    batch = PaddingCollator()([[0, 5, 0], [0]])
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]


def test_lists_arrays_and_tensors_of_any_whole_numbers_are_one():
    frozen = np.array([5, 6], np.uint16)
    frozen.flags.writeable = False  # as a file that is mapped into memory
    same = [[5, 6], (5, 6), range(5, 7), frozen, np.array([5, 6], np.int32)]
    same += [torch.tensor([5, 6], dtype=kind) for kind in (torch.int64, torch.uint8)]
    batch = PaddingCollator()(same)
    assert batch["input_ids"].tolist() == [[5, 6]] * len(same)


def test_a_list_that_holds_one_batch_is_that_batch():
    """A `DataLoader` of batch size 1 makes it of a data set whose items are batches."""
    texts = [[5, 6, 7], [], [8]]
    dicts = [{"input_ids": text} for text in texts]
    arrays = [np.array(text, np.int64) for text in texts]
    collate = PaddingCollator()
    alone = collate(texts)
    for batch in ([texts], [tuple(texts)], dicts, [dicts], arrays, [arrays]):
        assert all(torch.equal(x, alone[name]) for name, x in collate(batch).items())
    assert collate([[[]]])["input_ids"].shape == collate([[]])["input_ids"].shape == (1, 0)
    assert collate([[5, 6]])["input_ids"].tolist() == [[5, 6]]


def test_what_else_has_a_number_for_each_token_comes_along():
    examples = [
        {"input_ids": [5, 6], "token_type_ids": [0, 1], "special_tokens_mask": [True, False]},
        {"input_ids": [7], "token_type_ids": [1], "special_tokens_mask": [True]},
    ]
    for example in examples:
        example["attention_mask"] = [1] * len(example["input_ids"])  # as tokenizers add it
    batch = PaddingCollator(side="left")(examples)
    assert list(batch) == ["input_ids", "token_type_ids", "special_tokens_mask", "attention_mask"]
    assert batch["token_type_ids"].tolist() == [[0, 1], [0, 1]]
    assert batch["special_tokens_mask"].tolist() == [[1, 0], [0, 1]]
    assert batch["attention_mask"].tolist() == [[1, 1], [0, 1]]


def test_labels_of_padding_do_not_count():
    examples = [{"input_ids": [5, 6], "labels": [1, 2]}, {"input_ids": [7], "labels": [3]}]
    own = PaddingCollator(labels="own")(examples)["labels"]
    assert own.tolist() == [[1, 2], [3, -100]]


def test_examples_stay_as_they_were():
    ids = torch.tensor([5, 6])
    PaddingCollator(labels="shifted")([{"input_ids": ids, "labels": ids}])
    assert ids.tolist() == [5, 6]


def test_workers_of_a_loader_collate():
    collate = PaddingCollator(pad=3, side="left")
    assert pickle.loads(pickle.dumps(collate)) == collate
    loader = torch.utils.data.DataLoader(
        [[5], [6, 7], [8]], batch_size=2, collate_fn=collate, num_workers=1
    )
    assert [batch["input_ids"].tolist() for batch in loader] == [[[3, 5], [6, 7]], [[8]]]


@pytest.mark.parametrize(
    ("examples", "reason"),
    [
        ([], "a batch must hold one text or more, got none"),
        ([[5], [6, -100]], "input_ids of text 1 must be at least 0, got -100: -100 is for labels"),
        ([[5, 2.5]], r"input_ids of text 0 must be whole numbers, .* got \[5, 2.5\]"),
        ([torch.ones(3)], "input_ids of text 0 must be whole numbers"),
        ([torch.ones(2, 3).long()], "input_ids of text 0 must be whole numbers, one for each"),
        ([["the", "cat"]], "must be whole numbers, .* tokenise text"),
        (["the cat"], "must be whole numbers, .* got 'the cat'"),
        ([[5, None]], "must be whole numbers"),
        (
            [{"input_ids": [5]}, {"input_ids": [6], "kind": [1]}],
            "same names, got kind in text 0 or",
        ),
        ([{"text": "the cat"}], "text 0 must have input_ids, got text"),
        ([{}], "text 0 must have input_ids, got nothing"),
        ([{"input_ids": [5], "text": "the cat"}], "text of text 0 must be whole numbers"),
        ([{"input_ids": [5], "label": 1}], "label of text 0 must be whole numbers, one for each"),
        ([{"input_ids": [5], "offsets": [(0, 3)]}], "offsets of text 0 must be whole"),
        ([{"input_ids": [5, 6], "offsets": [[0], [0, 3]]}], "offsets of text 0 must be whole"),
        ([{"input_ids": [5], "kind": [1, 2]}], "a number for each of its 1 tokens, got 2: leave"),
        ([{"input_ids": [5, 0], "attention_mask": [1, 0]}], "hides tokens: give texts without"),
    ],
)
def test_what_is_no_text_is_refused_by_its_name(examples, reason):
    with pytest.raises(ShapeError, match=reason) as raised:
        PaddingCollator()(examples)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("dials", [{"pad": -1}, {"pad": True}])
def test_a_dial_is_a_whole_number(dials):
    with pytest.raises(ShapeError, match="must be a whole number of at least"):
        PaddingCollator(**dials)


def test_a_way_that_packs_goes_to_the_other_collator():
    with pytest.raises(UnsupportedOption, match=r"got Packed.*: use a packing collator") as raised:
        PaddingCollator(way=Packed())
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("text", [[5], torch.tensor([5]), {"input_ids": [5]}], ids=str)
def test_several_batches_are_refused_by_what_made_them(text):
    """`Trainer` takes 8 items of a `BatchedDataset` at a time where nobody says otherwise."""
    said = r"^[^\n]*got 3 items of which one is a batch itself: set batch_size=1 [^\n]*"
    with pytest.raises(ShapeError, match=said + "per_device_eval_batch_size=1[^\n]*$"):
        PaddingCollator()([[text, text], [text], []])
