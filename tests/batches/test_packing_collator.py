"""One row against a row written out by hand, and against the same texts padded and alone."""

import pickle

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.batches.small import LONGEST, VOCABULARY, logits, made, some_texts
from transformers import RobertaConfig, RobertaModel

from attncost import Causal, Full, ShapeError, UnsupportedOption, Window
from attncost.batches.packing_collator import PackingCollator
from attncost.batches.padding_collator import PaddingCollator
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.padded import Padded

TEXTS = [[5, 6, 7, 8, 9], [1], [], [0, 3, 4, 2, 2, 6, 11], [9, 9]]


@given(texts=some_texts, first=st.integers(0, 3), multiple=st.integers(1, 9))
def test_texts_lie_one_behind_the_other_and_positions_start_anew(texts, first, multiple):
    batch = PackingCollator(pad=7, first_position=first, way=Packed(multiple=multiple))(texts)
    ids, positions, segments = [], [], []
    for number, text in enumerate(texts):
        for at, token in enumerate(text):
            ids.append(token)
            positions.append(first + at)
            segments.append(number)
    behind = next(n for n in range(multiple) if (len(ids) + n) % multiple == 0)
    assert batch["input_ids"].tolist() == [ids + [7] * behind]
    assert batch["position_ids"].tolist() == [positions + list(range(first, first + behind))]
    assert batch["segments"].tolist() == [segments + [-1] * behind]
    assert batch["lengths"].tolist() == [len(text) for text in texts]
    assert {x.dtype for x in batch.values()} == {torch.int64}


def test_what_else_has_a_number_for_each_token_comes_along():
    examples = [
        {"input_ids": [5, 6], "labels": [1, 2], "token_type_ids": [0, 1], "attention_mask": [1, 1]},
        {"input_ids": [7], "labels": [3], "token_type_ids": [1], "attention_mask": [1]},
    ]
    batch = PackingCollator(way=Packed(multiple=4), labels="own")([examples])
    assert batch["token_type_ids"].tolist() == [[0, 1, 1, 0]]
    assert batch["labels"].tolist() == [[1, 2, 3, -100]]
    assert "attention_mask" not in batch


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(3)], ids=str)
def test_packed_padded_and_alone_are_one(pattern, dtype):
    model = made(pattern, dtype)
    packed = logits(model, PackingCollator(way=Packed(multiple=8))(TEXTS))[0]
    parts = packed.split([len(text) for text in TEXTS] + [1])
    right, left = (logits(model, PaddingCollator(side=side)(TEXTS)) for side in ("right", "left"))
    for text, part, on_right, on_left in zip(TEXTS, parts, right, left, strict=False):
        n = len(text)
        if not n:
            continue
        alone = logits(model, PackingCollator()([text]))[0]
        for other in (part, on_right[:n], on_left[-n:]):
            torch.testing.assert_close(other, alone, atol=1e-6, rtol=0)


@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(3)], ids=str)
def test_editing_one_text_changes_no_bit_of_another(pattern):
    model = made(pattern, torch.float32)
    before = logits(model, PackingCollator(way=Packed(multiple=8))(TEXTS))[0]
    start = 0
    for number, text in enumerate(TEXTS):
        edited = list(TEXTS)
        edited[number] = [(token + 1) % VOCABULARY for token in text]
        after = logits(model, PackingCollator(way=Packed(multiple=8))(edited))[0]
        stop = start + len(text)
        assert torch.equal(after[:start], before[:start])
        assert torch.equal(after[stop:], before[stop:])
        assert not text or not torch.equal(after[start:stop], before[start:stop])
        start = stop


def test_empty_texts_alone_make_a_row_without_slots_that_a_block_takes():
    batch = PackingCollator(way=Packed(multiple=8), labels="ids")([[], []])
    assert {name: tuple(x.shape) for name, x in batch.items()} == {
        "input_ids": (1, 0),
        "labels": (1, 0),
        "position_ids": (1, 0),
        "segments": (1, 0),
        "lengths": (2,),
    }
    assert logits(made(), batch).shape == (1, 0, VOCABULARY)


def test_positions_of_roberta_start_behind_that_of_padding():
    """https://github.com/huggingface/transformers/pull/47525."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = RobertaConfig(
        vocab_size=VOCABULARY,
        intermediate_size=16,
        max_position_embeddings=LONGEST + 2,
        pad_token_id=1,
        **sizes,
    )
    model = RobertaModel(config).eval()
    text = [5, 6, 7]
    right, wrong = (
        PackingCollator(pad=1, first_position=first)([[8, 9], text])["position_ids"][:, 2:]
        for first in (config.pad_token_id + 1, 0)
    )
    with torch.no_grad():
        ids = torch.tensor([text])
        itself = model(ids).last_hidden_state
        assert torch.equal(model(ids, position_ids=right).last_hidden_state, itself)
        assert (model(ids, position_ids=wrong).last_hidden_state - itself).abs().max() > 0.01


def test_workers_of_a_loader_collate():
    collate = PackingCollator(pad=3, first_position=2, way=Packed(multiple=8), labels="ids")
    assert pickle.loads(pickle.dumps(collate)) == collate
    loader = torch.utils.data.DataLoader(
        [[[5], [6, 7]], [[8]]], batch_size=1, collate_fn=collate, num_workers=1
    )
    assert [batch["lengths"].tolist() for batch in loader] == [[1, 2], [1]]


@pytest.mark.parametrize("name", ["position_ids", "segments", "lengths"])
def test_what_a_packed_batch_makes_itself_is_no_name_of_a_text(name):
    with pytest.raises(ShapeError, match=f"a packed batch makes {name} itself: leave it out"):
        PackingCollator()([{"input_ids": [5], name: [0]}])


@pytest.mark.parametrize("dials", [{"pad": -1}, {"first_position": -2}])
def test_a_dial_is_a_whole_number(dials):
    with pytest.raises(ShapeError, match="must be a whole number of at least"):
        PackingCollator(**dials)


def test_a_way_that_gives_each_text_a_row_goes_to_the_other_collator():
    with pytest.raises(UnsupportedOption, match=r"got Padded.*: use a padding collator") as raised:
        PackingCollator(way=Padded())
    assert "\n" not in str(raised.value)
