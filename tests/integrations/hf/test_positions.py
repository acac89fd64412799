"""Positions of packed texts begin where the model begins them by itself."""

import pytest
import torch
import transformers
from tests.integrations.hf import zoo
from tests.integrations.hf.packs import FROM_PADDING, OPEN, said, texts, tried

from attncost import UnsupportedOption
from attncost.integrations.hf.outputs import outputs
from attncost.integrations.hf.packing import packing_collator


@pytest.mark.parametrize("name", OPEN)
def test_positions_begin_where_the_model_begins_them(name):
    _, collate = tried(name)
    assert collate.positions == (name != "t5_encoder")
    assert collate.collator.first_position == FROM_PADDING.get(name, 0)
    assert ("position_ids" in collate(texts())) == collate.positions


@pytest.mark.parametrize("padding", [0, 4])
def test_positions_follow_another_padding_token(padding):
    model = zoo.MORE["roberta"](pad_token_id=padding)
    model.set_attn_implementation("attncost")
    assert packing_collator(model).collator.first_position == padding + 1


def test_positions_that_are_counted_in_no_known_way_are_refused():
    class Odd(transformers.BertModel):
        def forward(self, input_ids=None, position_ids=None, **rest):
            if position_ids is None:
                position_ids = 3 * torch.arange(input_ids.shape[1])[None]
            return super().forward(input_ids=input_ids, position_ids=position_ids, **rest)

    torch.manual_seed(0)
    with pytest.raises(UnsupportedOption, match="does not count its positions one by one from any"):
        packing_collator(Odd(zoo.ZOO["bert"]().config))


@pytest.mark.parametrize("name", FROM_PADDING)
def test_a_token_that_the_model_does_not_count_must_not_be_in_a_packed_text(name):
    """In the text alone, tokens behind it stand one position earlier than in a packed row."""
    model, collate = tried(name)
    assert collate.skipped == (1,)
    with pytest.raises(
        UnsupportedOption, match=r"leaves token 1 out when it counts .*: use padded"
    ):
        collate([[5, 1, 6, 7, 8], [9, 10]])
    # What fills the row up is nobody's text.
    assert collate([[5, 6], [7]])["input_ids"].tolist() == [[5, 6, 7, 1, 1, 1, 1, 1]]
    alone = said(model, {"input_ids": torch.tensor([[5, 1, 6, 7, 8]])})[0]
    found = outputs(model, [[5, 1, 6, 7, 8], [9, 10]])[0]
    torch.testing.assert_close(found, alone, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", ["bert", "llama", "t5_encoder"])
def test_other_models_count_their_padding_token_like_any_other(name):
    model, collate = tried(name)
    assert collate.skipped == ()
    text = torch.tensor([5, 0, 6])
    found = said(model, collate([text, [9, 10]]))[0, :3]
    torch.testing.assert_close(found, said(model, {"input_ids": text[None]})[0], rtol=0, atol=1e-5)
