"""Labels mean what the model compares them with, in padded and packed batches."""

import pytest
import torch
import transformers
from tests.integrations.hf import zoo
from tests.integrations.hf.packs import ours, said, texts
from torch import nn

from attncost import UnsupportedOption, hf
from attncost.integrations.hf.packing import packing_collator
from attncost.integrations.hf.padding import padding_collator


def tagging():
    config = zoo.ZOO["bert"]().config
    torch.manual_seed(0)
    model = transformers.BertForTokenClassification(config).eval()
    model.set_attn_implementation(hf.register("attncost"))
    return model


def of_texts(classes):
    config = zoo.ZOO["bert"](num_labels=classes).config
    return transformers.BertForSequenceClassification(config)


@pytest.mark.filterwarnings("ignore:Using a target size:UserWarning")
@pytest.mark.parametrize("collator", [padding_collator, packing_collator])
def test_labels_of_another_kind_than_the_model_compares_are_refused(collator):
    llama, tags = ours("llama"), tagging()
    collator(llama, labels="shifted")
    collator(tags, labels="own")
    for model, labels, said_so in (
        (llama, "own", "LlamaForCausalLM compares a label with the token before it"),
        (tags, "shifted", "BertForTokenClassification compares a label with its own token"),
        (tags, "ids", "with its own token: labels='own'; got labels='ids'"),
        (ours("bert"), "own", "BertModel computes no loss from a label for each token"),
        (of_texts(1), "own", "SequenceClassification computes no loss from a label for each"),
        (of_texts(3), "own", "SequenceClassification computes no loss from a label for each"),
    ):
        with pytest.raises(UnsupportedOption, match=said_so):
            collator(model, labels=labels)


def test_tags_and_kinds_of_tokens_go_along():
    model = tagging()
    examples = [
        {"input_ids": text, "token_type_ids": text % 2, "labels": text % 2} for text in texts()
    ]
    alone = [
        said(model, {"input_ids": text[None], "token_type_ids": text[None] % 2})[0]
        for text in texts()
        if len(text)
    ]
    batch = packing_collator(model, labels="own")(examples)
    torch.testing.assert_close(said(model, batch)[0], torch.cat(alone), rtol=0, atol=1e-5)
    expected = nn.functional.cross_entropy(torch.cat(alone), torch.cat(texts()) % 2)
    assert float(model(**batch).loss.detach()) == pytest.approx(float(expected), rel=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_half_precision_hides_no_label(seed):
    """Losses of several labels are so alike that one label more or less is rounded away."""
    torch.manual_seed(seed)
    config = transformers.BertConfig(**zoo.TINY | {"initializer_range": 0.02})
    model = transformers.BertForMaskedLM(config).to(torch.bfloat16)
    padding_collator(model, labels="own")
    with pytest.raises(UnsupportedOption, match="with its own token"):
        padding_collator(model, labels="shifted")


@pytest.mark.parametrize("collator", [packing_collator, padding_collator])
def test_a_loss_that_tells_nothing_of_labels_is_refused_whatever_they_are(collator):
    config = zoo.ZOO["bert"](num_labels=1).config
    one_class = transformers.BertForTokenClassification(config).eval()
    one_class.set_attn_implementation(hf.register("attncost"))
    broken = tagging()
    nn.init.constant_(broken.classifier.bias, torch.nan)
    for labels in ("own", "shifted", "ids"):
        for model, got in ((one_class, "got 0.0"), (broken, "got nan")):
            with pytest.raises(UnsupportedOption, match=f"a number that depends on .*{got}"):
                collator(model, labels=labels)
