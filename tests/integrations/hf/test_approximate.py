"""A mechanism in a layer of a model: its definition, or a refusal."""

import pytest
import torch
from tests.integrations.hf import zoo

from attncost import Linformer, ShapeError, UnsupportedOption, hf


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


BERT = zoo.inputs("bert", length=17)
REFUSED = {
    "padding": ("bert", zoo.inputs("bert", "right", length=17), "honour padding"),
    "complete mask": (
        "bert",
        BERT | {"attention_mask": torch.ones(2, 1, 17, 17, dtype=torch.bool)},
        "honour a complete mask",
    ),
    "causal": ("llama", zoo.inputs("llama", length=17), r"honour the mask Causal\(\)"),
    "window": ("mistral", zoo.inputs("mistral", length=17), "honour the mask Window"),
    "packed": (
        "llama",
        zoo.packed("llama", (8, 9)) | {"use_cache": False},
        r"honour the mask Causal\(\)",
    ),
    "weights": ("bert", BERT | {"output_attentions": True}, "honour output_attentions"),
    "position_bias": ("t5", zoo.inputs("t5", length=17), "honour position_bias"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_an_approximation_refuses_what_it_cannot_honour(why):
    name, batch, message = REFUSED[why]
    model = zoo.ZOO[name]()
    layers = "encoder.*" if name == "t5" else None
    with (
        hf.swap(model, Linformer(rank=5), length=17, layers=layers),
        pytest.raises(UnsupportedOption, match=message),
    ):
        model(**batch)


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
        pytest.raises(ShapeError, match=r"17 queries and 17 keys need .*: pad or cut"),
    ):
        zoo.outputs(model, zoo.inputs("vit"))
    model.set_attn_implementation(hf.register("linformer5", Linformer(rank=5)))
    with pytest.raises(ShapeError, match="key_projection, value_projection, which this model does"):
        zoo.outputs(model, zoo.inputs("vit"))
