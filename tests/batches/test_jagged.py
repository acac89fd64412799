"""Packed rows as nested tensors, against the same texts padded and alone."""

import pytest
import torch
from hypothesis import given
from tests.batches.small import VOCABULARY, some_texts
from torch import nn

import attncost as ac
from attncost import Block, Causal, Full, ShapeError, Window
from attncost.batches.jagged import ends, jagged, packed_row
from attncost.batches.outputs import by_text
from attncost.batches.packing_collator import PackingCollator
from attncost.batches.padding_collator import PaddingCollator
from attncost.batches.ways.packed import Packed

TEXTS = [[5, 6, 7, 8, 9], [1], [], [0, 3, 4, 2, 2, 6, 11], [9, 9]]
NESTED = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
EXACT = {"atol": 1e-6, "rtol": 0}


def layers(pattern):
    torch.manual_seed(0)
    parts = {
        "ids": nn.Embedding(VOCABULARY, 16),
        "norm": nn.LayerNorm(16),
        "attention": ac.nn.MultiheadAttention(16, 2, batch_first=True, pattern=pattern),
        "up": nn.Linear(16, 32),
        "down": nn.Linear(32, 16),
    }
    return nn.ModuleDict(parts).double()


def encoded(model, ids, **masks):
    """Return what the pieces of an encoder layer say, norms first."""
    x = model["ids"](ids)
    normed = model["norm"](x)
    x = x + model["attention"](normed, normed, normed, need_weights=False, **masks)[0]
    return x + model["down"](nn.functional.gelu(model["up"](x)))


def nested(batch):
    return jagged(batch["input_ids"], batch["segments"])


@NESTED
@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(3), Block(4)], ids=str)
@pytest.mark.parametrize("multiple", [1, 8])
def test_nested_padded_and_alone_are_one(pattern, multiple):
    model, batch = layers(pattern), PackingCollator(way=Packed(multiple=multiple))(TEXTS)
    found = by_text(packed_row(encoded(model, nested(batch))), batch)
    padded = PaddingCollator()(TEXTS)
    mask = padded["attention_mask"] == 0
    others = by_text(encoded(model, padded["input_ids"], key_padding_mask=mask), padded)
    for text, one, other in zip(TEXTS, found, others, strict=True):
        torch.testing.assert_close(one, other, **EXACT)
        if text:
            torch.testing.assert_close(one, encoded(model, torch.tensor([text]))[0], **EXACT)


@NESTED
def test_gradients_flow_through_and_back():
    model, batch = layers(Causal()), PackingCollator()(TEXTS)
    whole = packed_row(encoded(model, nested(batch))).square().sum()
    alone = sum(encoded(model, torch.tensor([t])).square().sum() for t in TEXTS if t)
    one, other = (torch.autograd.grad(x, model.parameters()) for x in (whole, alone))
    torch.testing.assert_close(one, other, **EXACT)


@NESTED
def test_both_directions_copy_nothing():
    batch = PackingCollator(way=Packed(multiple=8))(TEXTS)
    ids = nested(batch)
    assert ids.values().data_ptr() == batch["input_ids"].data_ptr()
    assert packed_row(ids).data_ptr() == batch["input_ids"].data_ptr()
    assert packed_row(ids).shape == batch["input_ids"].shape
    assert [x.tolist() for x in ids.unbind()] == [text for text in TEXTS if text] + [[0]]


@given(texts=some_texts)
def test_documents_end_where_their_lengths_add_up(texts):
    segments = PackingCollator()(texts)["segments"]
    expected = [0]
    for text in texts:
        if text:
            expected.append(expected[-1] + len(text))
    assert ends(segments).tolist() == expected
    assert ends(segments).dtype == torch.int32


@NESTED
@pytest.mark.parametrize("layout", [torch.strided, None])
def test_what_is_not_jagged_is_refused(layout):
    some = [torch.ones(2, 3), torch.ones(1, 3)]
    other = some[0] if layout is None else torch.nested.nested_tensor(some, layout=layout)
    with pytest.raises(ShapeError, match=r"must have the layout torch\.jagged and no holes"):
        packed_row(other)


@NESTED
def test_a_nested_tensor_with_holes_is_refused():
    holes = torch.nested.narrow(
        torch.ones(2, 4, 3), 1, torch.tensor([0, 1]), torch.tensor([2, 3]), layout=torch.jagged
    )
    with pytest.raises(ShapeError, match="no holes"):
        packed_row(holes)


def test_a_row_without_slots_is_refused():
    batch = PackingCollator()([[], []])
    with pytest.raises(ShapeError, match="got a packed row without slots: leave out batches"):
        nested(batch)
