"""The errors that the pages about hosts quote are those that are raised, and no row is invented.

Errors that come from types alone are left out, as the run-time check of types finds them first.
"""

import re

import pytest
import torch
import transformers
from tests.docs.pages import ROOT, defined_in
from torch import nn

import attncost as ac

X = torch.zeros(2, 40, 64)
CAUSAL = ac.Linear(causal=True)
FOREIGN = ("Specified attn_implementation", "enable_nested_tensor")


def quoted(page):
    """Return the messages of the table of errors, as pieces between dots that stand for more."""
    table = (ROOT / page).read_text().split("## Errors that people meet")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(.+?)`", table, re.MULTILINE)
    assert len(rows) >= 8
    return {row: row.split(" … ") for row in rows}


def said(call):
    with pytest.raises(ac.AttnCostError) as raised:
        call()
    return str(raised.value)


def agree(page, messages):
    """Check that each quoted message of ours was raised, and each that was raised is quoted."""
    rows = quoted(page)
    found = {
        row: [message for message in messages if all(piece in message for piece in pieces)]
        for row, pieces in rows.items()
        if not row.startswith(FOREIGN)
    }
    assert not [row for row, hits in found.items() if len(hits) != 1]
    assert len(found) == len(messages)


class Mine(nn.MultiheadAttention):
    pass


def test_the_errors_of_the_page_about_pytorch():
    window, ids = ac.nn.Attention(64, 4, ac.Window(8)), torch.zeros(2, 40, dtype=torch.int64)
    linformer = ac.nn.Attention(64, 4, ac.Linformer(rank=8), length=40)
    drop_in, cache = ac.nn.MultiheadAttention(64, 4, batch_first=True), ac.nn.DynamicCache()
    linear, state = ac.nn.Attention(64, 4, CAUSAL), ac.nn.StateCache(CAUSAL)
    window(X, cache=cache)
    linear(X, cache=state)
    calls = [
        lambda: ac.nn.cache_for(ac.Full()),
        lambda: window(X, cache=ac.nn.RollingCache(8)),
        lambda: window(X[:1], cache=cache),
        lambda: window(X, cache=ac.nn.DynamicCache(), segments=ids),
        lambda: ac.nn.cache_for(ac.Linear()),
        lambda: linformer(X, segments=ids),
        lambda: linear(X, X),
        lambda: linformer(X.repeat(1, 2, 1)[:, :50]),
        lambda: state.crop(39),
        lambda: ac.nn.Attention(64, 4, rope=ac.nn.Rope())(X, X[:, :5]),
        lambda: drop_in(X, X, X, attn_mask=torch.ones(40, 40, dtype=torch.int64)),
        lambda: ac.swap_multihead(nn.Sequential(Mine(64, 4))),
    ]
    agree("docs/use/torch.md", [said(call) for call in calls])


def test_pytorch_warns_of_an_encoder_made_of_the_drop_in_as_the_page_says():
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    layer.self_attn = ac.nn.MultiheadAttention(64, 4, batch_first=True)
    (row,) = (row for row in quoted("docs/use/torch.md") if row.startswith(FOREIGN))
    with pytest.warns(UserWarning, match=re.escape(row)):
        nn.TransformerEncoder(layer, 2)
    nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)


def model(kind="Llama", **sizes):
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=97,
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        pad_token_id=0,
        eos_token_id=None,
        **sizes,
    )
    return getattr(transformers, f"{kind}ForCausalLM")(config).eval()


def test_the_errors_of_the_page_about_hugging_face():
    ids = torch.arange(3, 33)[None]
    packed, padding = ids.clone(), torch.arange(30)[None] >= 10
    packed[0, :11], packed[0, 11:] = torch.arange(11), torch.arange(19)
    llama, mistral = model(), model("Mistral", sliding_window=8)
    bart = transformers.BartModel(
        transformers.BartConfig(
            vocab_size=97,
            d_model=32,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
        )
    )
    messages = [said(lambda: ac.hf.explain(llama, input_ids=ids))]
    llama.set_attn_implementation(ac.hf.register("page_exact"))
    bart.set_attn_implementation(ac.hf.register("page_window", ac.Window(8)))
    messages += [
        said(call)
        for call in (
            lambda: llama(ids, position_ids=packed),
            lambda: ac.hf.swap(llama, ac.Linformer(rank=8)),
            lambda: bart(input_ids=ids, decoder_input_ids=ids[:, :5]),
            lambda: ac.hf.swap(nn.TransformerEncoderLayer(8, 2), ac.Window(8)),
            lambda: ac.hf.register("sdpa"),
            lambda: ac.hf.swap(llama, ac.Window(8), layers=[3]),
        )
    ]
    with ac.hf.swap(llama, ac.Linformer(rank=8), length=30):
        messages.append(said(lambda: llama(ids)))
    with ac.hf.swap(llama, CAUSAL):
        messages.append(said(lambda: llama(ids, position_ids=packed, use_cache=False)))
    bert = transformers.BertModel(
        transformers.BertConfig(
            hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
        )
    )
    with ac.hf.swap(bert.eval(), ac.Linformer(rank=8), length=17):
        messages.append(said(lambda: bert(ids[:, :18])))
    with ac.hf.swap(llama, ac.Block(8)):
        messages.append(
            said(lambda: llama(ids, attention_mask=padding.long(), output_attentions=True))
        )
    with ac.hf.swap(mistral, ac.Block(8)):
        messages.append(said(lambda: mistral.generate(ids, max_new_tokens=3)))
    earlier, later = (ac.hf.swap(llama, ac.Window(width)) for width in (8, 4))
    messages.append(said(earlier.restore))
    later.restore()
    agree("docs/use/hugging-face.md", messages)


def test_transformers_refuses_a_name_that_was_not_registered_as_the_page_says():
    with pytest.raises(ValueError, match='Specified `attn_implementation="window16"` is not supp'):
        model().set_attn_implementation("window16")


def test_a_pattern_that_blocks_of_timm_get_after_loading_is_what_they_read():
    page = defined_in("docs/use/timm.md")
    layer, x = page["PatternAttention"](48, num_heads=4), torch.randn(1, 197, 48)
    full = layer(x)
    layer.pattern = page["Near"].pattern
    near = page["Near"](48, num_heads=4)
    near.load_state_dict(layer.state_dict())
    assert torch.equal(layer(x), near(x))
    assert not torch.allclose(layer(x), full)
