"""Greedy tokens are those of the model, with every cache and every pattern."""

import pytest
import torch
from tests.integrations.hf import zoo

from attncost import Fixed, Window, hf

WRITERS = (*zoo.DECODERS, "t5")
NEW = 20


def written(model, batch, cache):
    asked = {k: v for k, v in batch.items() if k != "decoder_input_ids"}
    options = {"max_new_tokens": NEW, "do_sample": False, "disable_compile": True}
    with torch.no_grad():
        return model.generate(**asked, **options, cache_implementation=cache)


@pytest.mark.parametrize("cache", [None, "static"], ids=["dynamic", "static"])
@pytest.mark.parametrize("name", WRITERS)
def test_greedy_tokens_are_those_of_the_model(name, cache):
    model, batch = zoo.ZOO[name](), zoo.inputs(name, "left", length=12)
    hf.register("exact")
    model.set_attn_implementation("eager")
    expected = written(model, batch, cache)
    model.set_attn_implementation("exact")
    assert torch.equal(written(model, batch, cache), expected)


def test_beam_search_is_that_of_the_model():
    model, batch = zoo.ZOO["llama"](), zoo.inputs("llama", "left", length=12)
    options = {"max_new_tokens": 8, "num_beams": 3, "do_sample": False}
    expected = model.generate(**batch, **options)
    with hf.swap(model, Window(1000)):
        assert torch.equal(model.generate(**batch, **options), expected)


@pytest.mark.parametrize("cache", [None, "static"], ids=["dynamic", "static"])
@pytest.mark.parametrize("pattern", [Window(5), Fixed(4, summary=1)], ids=str)
@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_tokens_written_one_by_one_are_those_of_a_full_pass(name, pattern, cache):
    model, batch = zoo.ZOO[name](torch.float64), zoo.inputs(name, "left", length=12)
    with hf.swap(model, pattern):
        tokens = written(model, batch, cache)
        padding = torch.cat([batch["attention_mask"], torch.ones(2, NEW, dtype=torch.long)], 1)
        position_ids = (padding.cumsum(1) - 1).clamp(min=0)
        with torch.no_grad():
            logits = model(tokens, attention_mask=padding, position_ids=position_ids).logits
    assert torch.equal(logits[:, 11:-1].argmax(-1), tokens[:, 12:])
