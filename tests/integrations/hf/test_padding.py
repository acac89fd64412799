"""Padded batches for models of transformers, against each text alone."""

import pytest
import torch
from tests.integrations.hf import zoo
from tests.integrations.hf.packs import LENGTHS, MODELS, each_alone, said, texts
from torch import nn

from attncost import UnsupportedOption
from attncost.batches.ways.packed import Packed
from attncost.batches.ways.stepped import Stepped
from attncost.integrations.hf.padding import padding_collator


def test_padding_is_that_of_the_model():
    assert padding_collator(MODELS["roberta"]()).pad == 1
    assert padding_collator(zoo.ZOO["gpt2"](pad_token_id=None)).pad == 0
    batch = padding_collator(MODELS["roberta"](), way=Stepped((4, 16)))(texts())
    assert batch["input_ids"].shape == (len(LENGTHS), 16)
    found = said(MODELS["roberta"](), batch)
    alone = each_alone(MODELS["roberta"](), texts())
    rows = [row[:length] for row, length in zip(found, LENGTHS, strict=True) if length]
    for one, expected in zip(rows, alone, strict=True):
        torch.testing.assert_close(one, expected, rtol=0, atol=1e-5)


def test_a_way_that_packs_is_refused_before_the_model_is_tried():
    with pytest.raises(UnsupportedOption, match=r"got Packed.*: use a packing collator"):
        padding_collator(nn.Linear(2, 2), way=Packed())
