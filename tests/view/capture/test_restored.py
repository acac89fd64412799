"""A capture leaves nothing behind, whatever happens meanwhile, and refuses what it cannot see."""

from contextlib import ExitStack

import pytest
import torch
import transformers
from tests.integrations.hf import zoo
from tests.view.capture.theirs import eager_weights, model, run
from torch.nn.attention.flex_attention import create_block_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from attncost import Block, Causal, Linformer, UnsupportedOption, Window, hf
from attncost.view.capture.capture import capture

BATCH = zoo.inputs("llama")
ATTENTION = "model.layers.1.self_attn"


def patterns(captured):
    return [[str(seen.pattern) for seen in calls] for calls in captured.values()]


def test_nothing_is_left_behind_even_after_an_error():
    before = dict(vars(ALL_ATTENTION_FUNCTIONS)), model("llama").config.to_dict()
    with capture(model("llama")):
        run(model("llama"), BATCH)
    with pytest.raises(ValueError, match="ids"), capture(model("llama")):
        raise ValueError("ids")
    with capture(model("llama"), heads=[9]), pytest.raises(Exception, match="no head 9"):
        run(model("llama"), BATCH)
    assert (dict(vars(ALL_ATTENTION_FUNCTIONS)), model("llama").config.to_dict()) == before


def test_names_of_implementations_and_masks_stay_while_it_is_watched():
    # https://github.com/resemble-ai/chatterbox/pull/398
    own = model("llama")
    with capture(own, layers=[1]) as captured:
        assert all(layer.self_attn.config is own.config for layer in own.model.layers)
        assert own.config._attn_implementation == "sdpa"
        run(own, BATCH)
        with pytest.raises(IndexError):
            run(own, {"input_ids": torch.full((1, 3), 999)})
    assert list(captured) == [ATTENTION]
    assert own.config._attn_implementation == "sdpa"


def test_captures_nest_and_end_in_any_order():
    first, second = (capture(model("llama"), [number]) for number in (0, 1))
    with ExitStack() as stack:
        outer = stack.enter_context(first)
        inner = second.__enter__()
        run(model("llama"), BATCH)
        stack.close()
        run(model("llama"), BATCH)
        second.__exit__(None, None, None)
        run(model("llama"), BATCH)
    assert [len(calls) for calls in (*outer.values(), *inner.values())] == [1, 2]
    assert "get_interface" not in vars(ALL_ATTENTION_FUNCTIONS)


def test_who_listened_before_listens_again(monkeypatch):
    asked, theirs = [], ALL_ATTENTION_FUNCTIONS.get_interface

    def listens(name, default):
        asked.append(name)
        return theirs(name, default)

    monkeypatch.setattr(ALL_ATTENTION_FUNCTIONS, "get_interface", listens, raising=False)
    with capture(model("llama")) as captured:
        run(model("llama"), BATCH)
    assert len(captured) == 3
    assert ALL_ATTENTION_FUNCTIONS.get_interface is listens
    assert asked == ["sdpa"] * 3


def test_another_model_of_the_same_class_is_not_captured():
    other = zoo.ZOO["llama"]()
    with capture(model("llama")) as captured:
        run(other, BATCH)
    assert not captured


def test_what_was_swapped_is_captured_as_it_reads():
    with hf.swap(model("llama"), Window(4), layers=[1]), capture(model("llama")) as captured:
        run(model("llama"), BATCH)
    assert [captured.last(name).pattern for name in captured] == [Causal(), Window(4), Causal()]


def test_a_swap_within_a_capture_is_seen_and_taken_back():
    with capture(model("llama"), [1]) as captured:
        run(model("llama"), BATCH)
        with hf.swap(model("llama"), Window(4), layers=[1]):
            run(model("llama"), BATCH)
        run(model("llama"), BATCH)
    causal, window = str(Causal()), str(Window(4))
    assert patterns(captured) == [[causal, window, causal]]


def test_another_implementation_set_meanwhile_is_captured_as_it_is():
    own = zoo.ZOO["llama"]()
    batch = zoo.inputs("llama", "right")
    with capture(own) as captured:
        run(own, batch)
        own.set_attn_implementation("eager")
        run(own, batch)
    expected = eager_weights(own, batch)
    for weights, (by_sdpa, by_eager) in zip(expected, captured.values(), strict=True):
        real = batch["attention_mask"].bool()[:, None, :, None]
        assert torch.equal(by_eager.weights(), weights)
        assert torch.allclose(by_sdpa.weights() * real, weights * real, atol=1e-5)


def test_a_mechanism_is_refused_by_name_unless_it_is_left_out():
    with hf.swap(model("bert"), Linformer(rank=4), layers=[1], length=24):
        with (
            pytest.raises(UnsupportedOption, match=r"encoder.layer.1.attention.self computes Linf"),
            capture(model("bert")),
        ):
            pass
        with capture(model("bert"), [0]) as captured:
            run(model("bert"), zoo.inputs("bert"))
    assert list(captured) == ["encoder.layer.0.attention.self"]


def test_a_pattern_that_counts_from_the_first_token_is_refused_where_that_is_padding():
    with hf.swap(model("llama"), Block(8), layers=[1]):
        with capture(model("llama")) as captured:
            run(model("llama"), BATCH)
        assert captured.last(ATTENTION).pattern == Causal() & Block(8)
        message = "one unpadded text at a time"
        with capture(model("llama")), pytest.raises(UnsupportedOption, match=message):
            run(model("llama"), zoo.inputs("llama", "left"))


def test_masks_of_flex_attention_are_refused_with_the_next_step():
    own = zoo.ZOO["llama"]()
    own.set_attn_implementation("flex_attention")
    mask = create_block_mask(Causal().mask_mod(24, 24), 2, None, 24, 24, device="cpu")
    message = rf"{ATTENTION} computes by 'flex_attention' .*set_attn_implementation\('sdpa'\)"
    with capture(own, [1]), pytest.raises(UnsupportedOption, match=message):
        own.model.layers[1].self_attn(
            torch.zeros(2, 24, 64), (torch.ones(2, 24, 16), torch.zeros(2, 24, 16)), mask
        )


def test_a_function_of_the_users_own_is_refused_by_name():
    def own_attention(module, query, key, value, attention_mask, **asked):
        return value.transpose(1, 2), None

    transformers.AttentionInterface.register("own", own_attention)
    own = zoo.ZOO["bert"]()
    own.set_attn_implementation("own")
    with capture(own), pytest.raises(UnsupportedOption, match="computes by 'own', whose weights"):
        run(own, zoo.inputs("bert"))


def test_what_a_layer_asks_and_nobody_knows_is_refused_by_name():
    message = "layer.0.attention.self cannot be captured, leave it out .* asks .* for strange"
    with capture(model("bert")), pytest.raises(UnsupportedOption, match=message):
        run(model("bert"), zoo.inputs("bert") | {"strange": 1})
