"""Models that do not keep packed texts apart are refused, and told what helps."""

import pytest
import torch
import transformers
from tests.integrations.hf import zoo
from tests.integrations.hf.packs import (
    CLOSED,
    LENGTHS,
    MODELS,
    OPEN,
    OWN_MASK,
    ours,
    said,
    split,
    texts,
)
from torch import nn

from attncost import AttnCostError, UnsupportedOption
from attncost.batches.packing_collator import PackingCollator
from attncost.integrations.hf.packed_pair import documents_of
from attncost.integrations.hf.packing import packing_collator
from attncost.integrations.hf.tiny_texts import Probe


def test_positions_that_begin_anew_do_not_keep_texts_apart():
    """https://github.com/huggingface/nanoVLM/pull/204 found outputs to move by 0.46."""
    model = zoo.ZOO["bert"]()
    by_hand, ids, other = PackingCollator(), texts(), texts(seed=2)

    def second(first):
        batch = by_hand([first, ids[2]])
        given = {name: batch[name] for name in ("input_ids", "position_ids")}
        return split(said(model, given), (LENGTHS[0], LENGTHS[2]))[1]

    assert float((second(other[0]) - second(ids[0])).abs().max()) > 0.1
    with pytest.raises(UnsupportedOption) as refused:
        packing_collator(model)
    assert str(refused.value) == (
        "BertModel with sdpa attention lets packed texts read each other: call "
        "model.set_attn_implementation(ac.hf.register('attncost')) before."
    )
    assert model.config._attn_implementation == "sdpa"


@pytest.mark.parametrize("name", [name for name in OPEN if name not in OWN_MASK])
def test_models_that_drop_what_they_are_told_of_documents_are_refused(name):
    model = MODELS[name]()
    model.set_attn_implementation("eager")
    with pytest.raises(UnsupportedOption, match=r"^[^\n]+other: call model\.set_attn_impl[^\n]+$"):
        packing_collator(model)


@pytest.mark.parametrize("vocabulary", [3, 5, 14, 15, 30000])
def test_a_leak_is_seen_whatever_the_size_of_the_vocabulary(vocabulary):
    special = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": [2]}
    model = zoo.ZOO["bert"](vocab_size=vocabulary, num_hidden_layers=1, **special)
    probe = Probe.of(model)
    for text, other in zip(probe.texts, probe.others, strict=True):
        assert not (text == other).any()
        assert vocabulary == 3 or int(text.min()) > 2
    with pytest.raises(UnsupportedOption, match="read each other"):
        packing_collator(model)


@pytest.mark.parametrize("name", CLOSED)
def test_models_with_an_attention_of_their_own_are_refused(name):
    with pytest.raises(UnsupportedOption, match=r"^[^\n]+read each other: use padded[^\n]+$"):
        packing_collator(ours(name))
    assert documents_of(ours(name)) == "masked"


def test_what_cannot_be_tried_or_packed_is_refused_in_one_line():
    sequence = transformers.BertForSequenceClassification(zoo.ZOO["bert"]().config)
    with torch.device("meta"):
        weightless = transformers.LlamaForCausalLM(zoo.ZOO["llama"]().config)
    for model, error, line in (
        (nn.Linear(2, 2), AttnCostError, "needs a model of transformers, got Linear"),
        (weightless, AttnCostError, "LlamaForCausalLM must have values to be tried"),
        (zoo.ZOO["t5"](), UnsupportedOption, "reads two sequences.* model.get_encoder()"),
        (sequence, UnsupportedOption, "returns neither last_hidden_state nor logits with a row"),
    ):
        with pytest.raises(error, match=f"^[^\n]*{line}[^\n]*$"):
            packing_collator(model)


def test_half_precision_packs_where_full_precision_does():
    packing_collator(ours("roberta", torch.bfloat16))
    with pytest.raises(UnsupportedOption, match="read each other"):
        packing_collator(MODELS["roberta"](torch.bfloat16))
