"""What our attention does in a model is said layer by layer, with its cost."""

import pytest
import torch
from tests.integrations.hf import zoo

from attncost import Causal, Fixed, Full, Linear, Linformer, UnsupportedOption, Window, hf
from attncost.integrations.hf.watch import _WATCHERS

H, D = 4, 16


@pytest.mark.parametrize(("name", "own"), [("llama", Causal()), ("bert", Full())])
def test_every_call_is_named_and_priced(name, own):
    model, (batch, n) = zoo.ZOO[name](), (2, 24)
    with hf.swap(model, Window(5), layers=[1]):
        found = hf.explain(model, **zoo.inputs(name))
    assert found.model == type(model).__name__
    assert found.others == ()
    assert [call.name.split(".")[2] for call in found.calls] == ["0", "1", "2"]
    for number, call in enumerate(found.calls):
        assert call.pattern == (Window(5) if number == 1 else own)
        cost = call.explanation.cost
        pairs = int(call.pattern.mask(n, n).sum())
        assert cost.useful == 4 * batch * H * D * pairs
        assert cost.dense == 4 * batch * H * D * n * n
        assert cost.useful <= cost.executed <= cost.dense


def test_it_reads_in_80_columns():
    model = zoo.ZOO["t5"]()
    with hf.swap(model, Fixed(4, summary=1), layers=[0, -1]):
        found = hf.explain(model, **zoo.inputs("t5"))
    lines = str(found).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith(
        "T5ForConditionalGeneration: 1.41 MFLOPs executed in 9 calls of exact"
    )
    text = " ".join(str(found).split())
    for call in found.calls:
        assert f"{call.name}: {call.pattern} by {call.explanation.kernel}," in text
    assert "note (3 calls): materialises a mask of 10 x 24," in text
    assert "EncDecAttention: Full() by" in text


def test_approximations_are_priced_beside_exact_calls():
    model = zoo.ZOO["vit"]()
    with hf.swap(model, Linformer(rank=4), length=17, layers=[1]):
        found = hf.explain(model, **zoo.inputs("vit"))
    assert found.others == ()
    assert [call.name for call in found.calls] == ["layers.0.attention", "layers.2.attention"]
    (call,) = found.approximations
    assert (call.name, call.mechanism) == ("layers.1.attention", Linformer(rank=4))
    mixtures, attention = 2 * 2 * 2 * H * 4 * 17 * D, 2 * 4 * H * 17 * 4 * D
    assert call.cost.executed == mixtures + attention
    said = " ".join(str(found).split())
    assert "mask, and 69.6 kFLOPs executed in 1 calls of approximations" in said
    assert "layers.1.attention: Linformer(rank=4" in said
    assert "note (1 calls): an approximation: weights that were trained with another" in said
    assert max(map(len, str(found).splitlines())) <= 80


def test_what_has_no_state_in_a_cache_of_transformers_is_said():
    model = zoo.ZOO["llama"]()
    with hf.swap(model, Linear(causal=True)):
        found = hf.explain(model, **zoo.inputs("llama"))
    assert found.calls == ()
    said = " ".join(str(found).split())
    assert "executed in 3 calls of approximations model.layers.0.self_attn: Linear(" in said
    assert "note (3 calls): caches of transformers hold keys and no state, so a token more" in said


def test_layers_that_are_not_reached_are_listed():
    model = zoo.ZOO["llama"]()
    model.model.layers[1].forward = lambda hidden, **_: hidden
    with hf.swap(model, Window(5)):
        found = hf.explain(model, **zoo.inputs("llama"))
    assert found.others == ("model.layers.1.self_attn",)
    assert str(found).splitlines()[-1] == "  not seen: model.layers.1.self_attn"


def test_a_registered_name_is_explained_too():
    model = zoo.ZOO["mistral"](attn_implementation=hf.register("exact"))
    found = hf.explain(model, **zoo.inputs("mistral", "left"))
    assert {call.pattern for call in found.calls} == {Window(zoo.WIDTH)}


def test_a_model_without_our_attention_is_told_how_to_get_it():
    model = zoo.ZOO["llama"]()
    with pytest.raises(
        UnsupportedOption, match=r"calls our attention: give it one with ac\.hf\.sw"
    ):
        hf.explain(model, **zoo.inputs("llama"))


def test_nobody_watches_afterwards():
    model = zoo.ZOO["llama"]()
    with hf.swap(model, Window(5)):
        model.lm_head.register_forward_hook(lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            hf.explain(model, **zoo.inputs("llama"))
    assert _WATCHERS == []
    assert torch.is_grad_enabled()


def test_texts_that_are_computed_one_by_one_are_priced_one_by_one():
    model, batch = zoo.ZOO["llama"](), zoo.inputs("llama", "left")  # 16 and 24 tokens
    with hf.swap(model, Fixed(4, summary=1), layers=[0]):
        found = hf.explain(model, **batch)
    own = [call.explanation.cost.useful for call in found.calls if call.pattern != Causal()]
    pairs = [Fixed(4, summary=1).pairs(n, n) for n in (16, 24)]
    assert own == [4 * H * D * count for count in pairs]
    assert "self_attn: Fixed(stride=4, summary=1) by sdpa, 2 calls," in " ".join(str(found).split())
