"""Packed batches for models of transformers: each text is what it is alone.

The oracle is the model itself on one text at a time, with the attention that it comes with.
"""

import pickle

import pytest
import torch
from tests.integrations.hf import zoo
from tests.integrations.hf.packs import (
    MODELS,
    OPEN,
    OWN_MASK,
    check_as_alone,
    each_alone,
    ours,
    said,
    split,
    texts,
    tried,
)
from torch import nn
from torch.utils.data import DataLoader

from attncost import Fixed, ShapeError, UnsupportedOption, hf
from attncost.batches.outputs import by_text
from attncost.batches.sampler import BatchSampler
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.padded import Padded
from attncost.integrations.hf.packed_pair import documents_of
from attncost.integrations.hf.packing import packing_collator


@pytest.mark.parametrize("name", OPEN)
def test_packed_texts_are_what_each_is_alone_with_the_models_own_attention(name):
    model, collate = tried(name)
    assert collate.documents == documents_of(model) == "apart"
    check_as_alone(model, collate, each_alone(MODELS[name](), texts()))


@pytest.mark.parametrize("name", OPEN)
def test_an_edit_of_one_text_moves_no_other(name):
    model, collate = tried(name)
    ids, other = texts(), texts(seed=2)
    before = split(said(model, collate(ids)))
    after = split(said(model, collate([*ids[:2], other[2], *ids[3:]])))
    for number, (one, was) in enumerate(zip(after, before, strict=True)):
        if number == 2:
            assert float((one - was).abs().max()) > 1e-3
        elif name in ("mixtral", "gpt_oss"):  # tokens are sorted by expert, which rounds anew
            torch.testing.assert_close(one, was, rtol=0, atol=1e-5)
        else:
            assert torch.equal(one, was)


@pytest.mark.parametrize("name", OWN_MASK)
def test_models_that_find_documents_themselves_pack_as_they_come_but_under_a_mask(name):
    model = MODELS[name]()
    if name in zoo.EAGER_ONLY:
        model.set_attn_implementation("eager")
    collate = packing_collator(model)
    assert collate.documents == documents_of(model) == "masked"
    check_as_alone(model, collate, each_alone(model, texts()))


def test_the_batch_is_what_models_take():
    model = ours("llama")
    batch = packing_collator(model, way=Packed(multiple=16), labels="ids")(texts())
    ends = [0, 11, 18, 19, 31, 32]
    assert batch.keys() == {
        "input_ids",
        "position_ids",
        "labels",
        "cu_seq_lens_q",
        "cu_seq_lens_k",
        "max_length_q",
        "max_length_k",
        "use_cache",
    }
    for name in ("cu_seq_lens_q", "cu_seq_lens_k"):
        assert batch[name].tolist() == ends
        assert batch[name].dtype == torch.int32
    assert batch["max_length_q"] == batch["max_length_k"] == 12
    assert batch["use_cache"] is False
    starts = [0, 11, 18, 19, 31]
    assert (batch["position_ids"][0] == 0).nonzero().flatten().tolist() == starts
    assert (batch["labels"][0] == -100).nonzero().flatten().tolist() == starts
    assert batch["input_ids"].shape == batch["position_ids"].shape == (1, 32)


@pytest.mark.parametrize(("implementation", "multiple"), [("sdpa", 16), ("attncost", 1)])
def test_the_loss_of_a_packed_batch_is_the_mean_over_the_tokens_of_all_texts(
    implementation, multiple
):
    model = MODELS["llama"]()
    losses, tokens = 0.0, 0
    for text in texts():
        if len(text) > 1:
            logits = said(model, {"input_ids": text[None]})[0]
            losses += float(nn.functional.cross_entropy(logits[:-1], text[1:], reduction="sum"))
            tokens += len(text) - 1
    hf.register("attncost")
    model.set_attn_implementation(implementation)
    batch = packing_collator(model, way=Packed(multiple=multiple), labels="ids")(texts())
    with torch.no_grad():
        assert float(model(**batch).loss) == pytest.approx(losses / tokens, rel=1e-6)


@pytest.mark.parametrize("multiple", [1, 8, 400])
def test_each_text_gets_its_own_outputs_back_empty_ones_and_padding_or_not(multiple):
    model, ids = ours("roberta"), [*texts(), torch.tensor([], dtype=torch.int64)]
    batch = packing_collator(model, way=Packed(multiple=multiple))(ids)
    assert by_text(batch["input_ids"], batch)[0].tolist() == ids[0].tolist()
    found = by_text(said(model, batch), batch)
    assert [len(one) for one in found] == [len(text) for text in ids]
    for one, alone in zip([one for one in found if len(one)], each_alone(model, ids), strict=True):
        torch.testing.assert_close(one, alone, rtol=0, atol=1e-5)


def test_a_loader_rounds_rows_up_and_its_workers_tell_which_text_is_where():
    way = Packed(32, multiple=16)
    ids = texts((5, 17, 3, 30, 9, 1, 22))
    sampler = BatchSampler([len(text) for text in ids], way, shuffle=False)
    collate = packing_collator(tried("bert")[0], way=way)
    loader = DataLoader(ids, batch_sampler=sampler, collate_fn=collate, num_workers=1)
    seen = []
    for numbers, batch in zip(sampler, loader, strict=True):
        assert batch["input_ids"].shape in {(1, 16), (1, 32)}
        for number, one in zip(numbers, by_text(batch["input_ids"], batch), strict=True):
            assert torch.equal(one, ids[number])
            seen.append(number)
    assert sorted(seen) == [*range(len(ids))]


def test_a_way_that_does_not_pack_is_refused_before_the_model_is_tried():
    with pytest.raises(UnsupportedOption, match=r"got Padded.*: use a padding collator"):
        packing_collator(nn.Linear(2, 2), way=Padded())


def test_texts_beyond_the_positions_of_the_model_are_refused():
    collate = packing_collator(ours("roberta"))
    assert collate([[5] * 126, [6] * 126])["input_ids"].shape == (1, 252)
    with pytest.raises(
        ShapeError, match="at most 126 tokens, the positions of RobertaModel, got 1"
    ):
        collate([[5] * 127])
    t5 = ours("t5_encoder")
    assert packing_collator(t5)([[5] * 999])["input_ids"].shape == (1, 999)


def test_padding_longer_than_the_positions_of_the_model_is_several_documents():
    model = ours("roberta")
    batch = packing_collator(model, way=Packed(multiple=400))(texts())
    assert batch["cu_seq_lens_q"].tolist() == [0, 11, 18, 19, 31, 157, 283, 400]
    assert batch["max_length_q"] == 126
    expected = torch.cat(each_alone(model, texts()))
    torch.testing.assert_close(said(model, batch)[0, :31], expected, rtol=0, atol=1e-5)
    assert (
        packing_collator(model, way=Packed(multiple=31))(texts())["cu_seq_lens_q"].tolist()[-1]
        == 31
    )


def test_a_token_that_changes_other_texts_must_not_be_in_a_row():
    """ESM scales a row by how many of its tokens are masked."""
    model = zoo.MORE["esm"](token_dropout=True)
    model.set_attn_implementation(hf.register("attncost"))
    collate = packing_collator(model)
    check_as_alone(model, collate, each_alone(model, texts()))
    with pytest.raises(
        UnsupportedOption, match="token 3 in one text changes the others of its row"
    ):
        collate([[5, 3, 6], [7, 8]])
    assert packing_collator(ours("esm"))([[5, 3, 6], [7, 8]])["input_ids"].shape == (1, 5)


def test_empty_texts_alone_make_no_batch():
    collate = packing_collator(ours("bert"))
    with pytest.raises(ShapeError, match="empty texts alone"):
        collate([[], []])
    assert collate([[], [5]])["cu_seq_lens_q"].tolist() == [0, 1]


def test_a_pattern_that_counts_from_the_first_token_does_so_in_each_packed_text():
    model = ours("llama")
    with hf.swap(model, Fixed(4, summary=1)):
        check_as_alone(model, packing_collator(model), each_alone(model, texts()))


def test_the_model_and_the_numbers_of_the_caller_stay_as_they_were():
    model = ours("llama").train()
    model.model.layers[0].eval()
    modes, state = [part.training for part in model.modules()], torch.get_rng_state()
    collate = packing_collator(model, labels="ids")
    assert [part.training for part in model.modules()] == modes
    assert torch.equal(torch.get_rng_state(), state)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert model.config._attn_implementation == "attncost"
    assert pickle.loads(pickle.dumps(collate)) == collate  # so workers can have it
    model(**collate(texts())).loss.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_a_token_beyond_the_vocabulary_is_no_token_of_the_model():
    model = zoo.MORE["esm"](mask_token_id=500)
    model.set_attn_implementation(hf.register("attncost"))
    assert packing_collator(model).mixing_token is None
