"""Faults that people have reported of attention in models, each under the property it breaks."""

import pytest
import torch
from tests.integrations.hf.zoo import (
    DECODERS,
    VOCABULARY,
    WIDTH,
    ZOO,
    inputs,
    outputs,
    packed,
    softmax_in_float64,
    valid,
)
from transformers import DataCollatorWithFlattening, RobertaConfig, RobertaModel

from attncost import hf
from attncost.core.errors import UnsupportedOption
from attncost.integrations.hf.isolation import check_isolation

OURS = hf.register("attncost_test")


def ours(name, dtype=torch.float32):
    model = ZOO[name](dtype)
    model.set_attn_implementation(OURS)
    return model


@pytest.mark.parametrize("name", [name for name in ZOO if name != "vit"])
def test_another_attention_function_keeps_padding_and_the_future_hidden(name):
    """github.com/huggingface/transformers, pull request 45811, issue 36889.

    Registered without a mask function, it moved outputs by 0.5.
    """
    model, batch = ours(name), inputs(name, "left")
    assert check_isolation(model, batch)
    found = outputs(model, batch)
    model.set_attn_implementation("eager")
    rows = valid(name, batch)
    torch.testing.assert_close(found[rows], outputs(model, batch)[rows], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["llama", "mistral", "gemma2", "gemma3", "gpt_oss", "bert"])
def test_rows_that_read_nothing_spoil_no_token_that_counts(name, dtype):
    """github.com/huggingface/transformers, issues 38690 and 31035: they became NaN and spread.

    Padding that is longer than a window makes such rows, and so does a sequence of padding alone.
    """
    model, batch = ours(name, dtype), inputs(name, "left", batch=3, length=40)
    batch["attention_mask"][2] = 0
    assert outputs(model, batch)[:2][valid(name, batch)[:2]].isfinite().all()
    assert check_isolation(model, batch)


@pytest.mark.parametrize("length", [WIDTH - 1, WIDTH, WIDTH + 1, 24])
def test_a_sliding_window_has_exactly_its_width(length):
    """github.com/huggingface/transformers, pull request 26792: its diagonal was off by one."""
    model = ours("mistral")
    del model.model.layers[1:]
    batch = inputs("mistral", batch=1, length=length)
    embeddings = model.get_input_embeddings()(batch["input_ids"]).detach()
    before = model(inputs_embeds=embeddings).logits
    for token in range(length):
        other = embeddings.clone()
        other[:, token] += 1
        moved = (model(inputs_embeds=other).logits != before).any(-1)[0]
        assert moved.nonzero().flatten().tolist() == [*range(token, min(length, token + WIDTH))]


def test_flattened_documents_are_told_apart_wherever_their_positions_start():
    """github.com/huggingface/transformers, pull request 47525: RoBERTa begins at padding_idx + 1.

    Right positions alone do not isolate in an encoder, so the documents are given as a mask, too.
    """
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = RobertaConfig(
        vocab_size=VOCABULARY, intermediate_size=64, pad_token_id=1, initializer_range=0.12, **sizes
    )
    model = RobertaModel(config).eval()
    documents = [{"input_ids": ids} for ids in inputs("bert")["input_ids"][0].split([11, 6, 7])]
    alone = [model(ids["input_ids"][None]).last_hidden_state for ids in documents]
    exact = torch.cat(alone, 1)
    for start, right in ((config.pad_token_id + 1, True), (0, False)):
        flat = DataCollatorWithFlattening(position_ids_start=start)(
            [{"input_ids": one["input_ids"].tolist()} for one in documents]
        )
        batch = {name: flat[name] for name in ("input_ids", "position_ids")}
        model.set_attn_implementation("sdpa")
        leaking = check_isolation(model, batch)
        assert leaking.checked == ("3 documents",)
        assert [leak.kind for leak in leaking.leaks] == ["document"]
        model.set_attn_implementation(OURS)
        with pytest.raises(UnsupportedOption, match="so documents are packed"):
            model(**batch)
        numbers = (flat["position_ids"] == start).cumsum(-1)
        batch["attention_mask"] = (numbers[:, None] == numbers[..., None])[:, None]
        assert check_isolation(model, batch)
        packed_states = model(**batch).last_hidden_state
        assert torch.allclose(packed_states, exact, atol=1e-5) == right


@pytest.mark.parametrize("name", [name for name in DECODERS if name != "gpt_oss"])
def test_documents_in_one_row_are_what_they_are_alone(name):
    """github.com/huggingface/nanoVLM, pull request 204: new positions alone moved them by 0.46."""
    model, batch = ours(name), packed(name) | {"use_cache": False}
    assert check_isolation(model, batch)
    alone = [model(input_ids=ids).logits for ids in batch["input_ids"].split([11, 7, 12], 1)]
    torch.testing.assert_close(model(**batch).logits, torch.cat(alone, 1), atol=1e-5, rtol=1e-5)
    ones = torch.ones_like(batch["input_ids"])
    for more in ({"use_cache": True}, {"attention_mask": ones}):
        with pytest.raises(UnsupportedOption, match="position"):
            model(**batch | more)


@pytest.mark.parametrize("name", ["llama", "gpt2", "bert"])
@pytest.mark.parametrize("lowest", [torch.finfo(torch.float32).min, -torch.inf])
def test_a_float32_mask_cast_to_bfloat16_hides_and_makes_nothing_nan(name, lowest):
    """github.com/allenai/OLMo, pull request 323: the lowest float32 becomes minus infinity."""
    model, batch = ours(name, torch.bfloat16), inputs(name, "left")
    keys = batch["attention_mask"].bool()[:, None, None].expand(2, 1, 24, 24)
    read = keys if name == "bert" else keys.tril()
    mask = torch.zeros(read.shape).masked_fill(~read, lowest).bfloat16()
    assert mask.isneginf().any()
    rows = valid(name, batch)
    found, exact = (outputs(model, batch | {"attention_mask": one})[rows] for one in (mask, read))
    assert found.isfinite().all()
    torch.testing.assert_close(found, exact, atol=0, rtol=0)


def test_eager_attention_in_float64_is_an_oracle_only_with_its_softmax_in_float64():
    """Otherwise rows of padding are NaN: the lowest float64 is minus infinity in float32."""
    model, batch = ZOO["llama"](torch.float64), inputs("llama", "left")
    model.set_attn_implementation("eager")
    rows = valid("llama", batch)
    assert outputs(model, batch)[rows].isnan().any()
    with softmax_in_float64():
        exact = outputs(model, batch)[rows]
    torch.testing.assert_close(outputs(ours("llama", torch.float64), batch)[rows], exact)
