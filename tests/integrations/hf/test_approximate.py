"""A mechanism in a layer of a model: its definition, or a refusal."""

import pytest
import torch
from tests.integrations.hf import zoo
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from attncost import Linear, Linformer, ShapeError, UnsupportedOption, hf


def test_an_approximation_is_its_definition_and_learns():
    model, batch, seen = zoo.ZOO["vit"](torch.float64), zoo.inputs("vit"), {}
    own = model.layers[1].attention
    own.register_forward_hook(lambda _, given, out: seen.update(given=given[0], out=out[0]))
    with hf.swap(model, Linformer(rank=5), length=17, layers=[1]):
        mean = zoo.outputs(model, batch).square().mean()
        learned = dict(own.attncost.named_parameters())
        mean.backward()
    heads = (2, 17, 4, 16)
    q, k, v = (
        project(seen["given"]).view(heads).transpose(1, 2)
        for project in (own.q_proj, own.k_proj, own.v_proj)
    )
    keys = torch.einsum("rm,bhmd->bhrd", learned["key_projection"], k)
    values = torch.einsum("rm,bhmd->bhrd", learned["value_projection"], v)
    weights = (torch.einsum("bhnd,bhrd->bhnr", q, keys) / 4).softmax(-1)
    out = torch.einsum("bhnr,bhrd->bhnd", weights, values).transpose(1, 2).reshape(2, 17, 64)
    torch.testing.assert_close(seen["out"], own.o_proj(out))
    assert sorted(learned) == ["key_projection", "value_projection"]
    assert all(tensor.grad.any() for tensor in learned.values())


def linear(q, k, v, key_mask=None):
    """Return causal linear attention by its definition; the last query stands at the last key."""
    n, m = q.shape[2], k.shape[2]
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    features = [torch.where(x > 0, x + 1, x.exp()) for x in (q, k)]
    read = torch.ones(n, m, dtype=torch.bool).tril(m - n)
    if key_mask is not None:
        read = read & key_mask[:, None, None, :]
    weights = torch.einsum("bhnf,bhmf->bhnm", *features) * read
    total = weights.sum(-1, keepdim=True)
    return weights @ v / torch.where(total > 0, total, 1.0)


@pytest.mark.parametrize("padding", zoo.PADDINGS)
def test_a_causal_model_takes_a_causal_approximation_and_keeps_padding_out(padding):
    model, batch, seen = zoo.ZOO["llama"](torch.float64), zoo.inputs("llama", padding), {}
    own, mask = model.model.layers[1].self_attn, batch.get("attention_mask")

    def note(module, given, wishes, out):
        hidden, (cos, sin) = wishes["hidden_states"], wishes["position_embeddings"]
        q, k, v = (
            project(hidden).view(2, 24, -1, 16).transpose(1, 2)
            for project in (module.q_proj, module.k_proj, module.v_proj)
        )
        q, k = apply_rotary_pos_emb(q, k, cos, sin)
        mixed = linear(q, k, v, None if mask is None else mask.bool())
        seen["expected"] = module.o_proj(mixed.transpose(1, 2).flatten(2))
        seen["out"] = out[0]

    own.register_forward_hook(note, with_kwargs=True)
    with hf.swap(model, Linear(causal=True), layers=[1]), torch.no_grad():
        model(**batch)
        valid = zoo.valid("llama", batch)
        torch.testing.assert_close(seen["out"][valid], seen["expected"][valid])
        assert hf.check_isolation(model, batch)


@pytest.mark.parametrize("cache", [None, "static"], ids=["dynamic", "static"])
@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_tokens_written_with_a_cache_are_those_written_without(name, cache):
    model, batch = zoo.ZOO[name](torch.float64), zoo.inputs(name, "left", length=12)
    wishes = {"max_new_tokens": 12, "do_sample": False, "disable_compile": True}
    with hf.swap(model, Linear("softmax", causal=True), layers=[0, 2]):
        written = model.generate(**batch, **wishes, cache_implementation=cache)
        assert torch.equal(written, model.generate(**batch, **wishes, use_cache=False))


def test_under_autocast_turned_queries_and_plain_values_are_of_one_type():
    model, batch = zoo.ZOO["llama"](torch.float32), zoo.inputs("llama", "left")
    real = zoo.valid("llama", batch)
    with hf.swap(model, Linear(causal=True)), torch.no_grad():
        exact = zoo.outputs(model, batch)
        with torch.autocast("cpu", torch.bfloat16):
            found = zoo.outputs(model, batch)
    torch.testing.assert_close(found[real].float(), exact[real], atol=0.05, rtol=0.05)


@pytest.mark.parametrize("mixing", [Linformer(rank=5), Linear()], ids=str)
@pytest.mark.parametrize("padding", ["right", "left"])
def test_an_encoder_may_be_padded_and_shorter_than_declared(mixing, padding):
    model, batch = zoo.ZOO["bert"](torch.float64), zoo.inputs("bert", padding)
    length = 512 if isinstance(mixing, Linformer) else None
    real = zoo.valid("bert", batch)[0]
    batch["position_ids"] = (batch["attention_mask"].cumsum(1) - 1).clamp(min=0)
    alone = {
        "input_ids": batch["input_ids"][:1, real],
        "position_ids": torch.arange(16)[None],
    }
    with hf.swap(model, mixing, length=length), torch.no_grad():
        found = zoo.outputs(model, batch)[:1, real]
        torch.testing.assert_close(found, zoo.outputs(model, alone))


BERT = zoo.inputs("bert", length=17)
LLAMA = zoo.inputs("llama", length=17)
CAUSAL = Linear(causal=True)
REFUSED = {
    "complete mask": (
        "bert",
        BERT | {"attention_mask": torch.ones(2, 1, 17, 17, dtype=torch.bool)},
        Linformer(rank=5),
        "honour a complete mask",
    ),
    "complete mask, causal": (
        "llama",
        LLAMA | {"attention_mask": torch.ones(2, 1, 17, 17, dtype=torch.bool)},
        CAUSAL,
        "honour a complete mask",
    ),
    "causal": ("llama", LLAMA, Linear(), r"honour the mask Causal\(\): it mixes all tokens; use"),
    "window": (
        "mistral",
        zoo.inputs("mistral", length=17),
        CAUSAL,
        "honour the mask Window.* it is causal and mixes all tokens before",
    ),
    "packed": (
        "llama",
        zoo.packed("llama", (8, 9)) | {"use_cache": False},
        CAUSAL,
        "honour packed documents",
    ),
    "softcap": (
        "gemma2",
        zoo.inputs("gemma2", length=5),
        CAUSAL,
        "honour softcap",
    ),
    "sinks": ("gpt_oss", zoo.inputs("gpt_oss", length=17), CAUSAL, "honour sinks"),
    "weights": ("bert", BERT | {"output_attentions": True}, Linear(), "honour output_attentions"),
    "position_bias": (
        "t5",
        zoo.inputs("t5", length=17),
        Linformer(rank=5),
        "honour position_bias",
    ),
    "length": ("bert", zoo.inputs("bert", length=18), Linformer(rank=5), "at most 17 keys, got 18"),
}


# Those whose first layers say what is meant, not another rule before it.
LAYERS = {"t5": "encoder.*", "gemma2": [1], "gpt_oss": [1]}


@pytest.mark.parametrize("why", REFUSED)
def test_an_approximation_refuses_what_it_cannot_honour(why):
    name, batch, mixing, message = REFUSED[why]
    model, layers = zoo.ZOO[name](), LAYERS.get(name)
    length = 17 if isinstance(mixing, Linformer) else None
    with (
        hf.swap(model, mixing, length=length, layers=layers),
        pytest.raises((UnsupportedOption, ShapeError), match=message) as said,
    ):
        model(**batch)
    assert "\n" not in str(said.value)


def test_cross_attention_is_no_place_for_what_reads_the_past():
    model = zoo.ZOO["t5"]()
    with (
        hf.swap(model, Linear(causal=True), layers="*EncDecAttention"),
        pytest.raises(UnsupportedOption, match="needs the last query at the last key, which cross"),
    ):
        model(**zoo.inputs("t5"))


def test_an_approximation_refuses_dropout_only_where_it_drops():
    model = zoo.ZOO["bert"](attention_probs_dropout_prob=0.1)
    with hf.swap(model, Linformer(rank=5), length=17):
        model(**BERT)
        with pytest.raises(UnsupportedOption, match="honour dropout"):
            model.train()(**BERT)


def test_an_approximation_says_what_its_learned_tensors_lack():
    model = zoo.ZOO["vit"]()
    with pytest.raises(ShapeError, match="say which with length="):
        hf.swap(model, Linformer(rank=5))
    with (
        hf.swap(model, Linformer(rank=5), length=16),
        pytest.raises(ShapeError, match=r"at most 16 keys, got 17: cut the sequence"),
    ):
        zoo.outputs(model, zoo.inputs("vit"))
    model.set_attn_implementation(hf.register("linformer5", Linformer(rank=5)))
    with pytest.raises(ShapeError, match="key_projection, value_projection, which this model does"):
        zoo.outputs(model, zoo.inputs("vit"))


def test_what_learns_nothing_may_be_registered_by_name():
    model, batch = zoo.ZOO["llama"](), zoo.inputs("llama")
    with hf.swap(model, CAUSAL), torch.no_grad():
        expected = model(**batch).logits
    model.set_attn_implementation(hf.register("linear", CAUSAL))
    assert torch.equal(zoo.evaluated(model, batch), expected)
