"""The price of a layer: its line runs as printed, and its damage is that of dense masks."""

import inspect
from dataclasses import replace

import pytest
import torch
from tests.integrations.hf import zoo
from tests.view.prices import brute
from tests.view.prices.watched import narrowed, watched

import attncost
from attncost import (
    Causal,
    Full,
    Longformer,
    ShapeError,
    UnknownName,
    UnsupportedOption,
    Window,
    hf,
)
from attncost.kernels.rates import Rates, using
from attncost.view.prices.layers import layer_prices

LENGTH = 400
BERT = zoo.TINY | zoo.NO_DROPOUT | {"max_position_embeddings": LENGTH}
MODELS = {
    "llama": zoo.ZOO["llama"],
    "bert": lambda dtype: zoo.made("BertModel", "BertConfig", dtype, **BERT),
}


@pytest.fixture(scope="module", params=["llama", "bert"])
def subject(request):
    """Return a model in float64, padded inputs and what its layers are asked."""
    model = MODELS[request.param](torch.float64)
    inputs = zoo.inputs(request.param, "right", batch=2, length=LENGTH)
    return model, inputs, watched(model, inputs)


def within(calls, distance, *names):
    """Return calls, and statistics as if all their mass lay within a distance."""
    return {name: (calls[name], brute.concentrated(calls[name], distance)) for name in names}


def swapped(model, line):
    """Run a line as a user would who pastes it."""
    return eval(line, {"ac": attncost, "model": model})


def test_a_line_runs_as_printed_and_its_damage_is_that_of_a_dense_mask(subject):
    model, inputs, calls = subject
    real, causal = zoo.valid("", inputs), isinstance(model, zoo.transformers.LlamaForCausalLM)
    name = [*calls][1]
    price = layer_prices(model, inputs, within(calls, 4, name))[name]
    width = "5" if causal else "9, ahead=4"
    assert price.line == f"ac.hf.swap(model, ac.Window({width}), layers=[1])"
    before = zoo.evaluated(model, inputs)[real]
    with swapped(model, price.line) as handle:
        assert (handle.names, handle.attention) == ((name,), price.pattern)
        pasted = zoo.evaluated(model, inputs)[real]
    with (
        zoo.softmax_in_float64(),
        narrowed(model, name, brute.reads(price.pattern, LENGTH, LENGTH)),
    ):
        after = zoo.evaluated(model, inputs)[real]
    damage = float((after - before).norm() / before.norm())
    assert damage > 1e-3
    assert price.damage == pytest.approx(damage, rel=1e-5)
    assert price.damage == pytest.approx(float((pasted - before).norm() / before.norm()))
    said = "logits" if causal else "last hidden states"
    near = "within 5 tokens" if causal else "within 4 tokens on each side"
    assert price.sentence == (
        f"95 % of the mass of its 4 heads lies {near}: a window would cost {price.share:.3f} x and "
        f"move the {said} of the model by {show(100 * price.damage)} %."
    )


def show(value):
    return f"{value:.{1 if value >= 9.995 else 2 if value >= 0.995 else 3}f}"


def state(model):
    implementations = [
        one.config._attn_implementation for one in model.modules() if hasattr(one, "config")
    ]
    return repr(model), implementations, model.training, torch.get_rng_state().tolist()


def test_the_model_is_left_as_it_was_also_after_an_error():
    model, inputs = zoo.ZOO["llama"](), zoo.inputs("llama", "right", batch=2, length=LENGTH)
    calls = watched(model, inputs)
    layers, told = within(calls, 4, *calls), []
    model.train()
    before, passes = state(model), []
    prices = layer_prices(model, inputs, layers, progress=lambda *done: told.append(done))
    assert state(model) == before
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert [price.line[-4:] for price in prices.values()] == ["[0])", "[1])", "[2])"]

    def fail(_module, _inputs):
        passes.append(_module)
        if len(passes) == 3:
            raise KeyboardInterrupt

    handle = model.register_forward_pre_hook(fail)
    with pytest.raises(KeyboardInterrupt):
        layer_prices(model, inputs, layers)
    handle.remove()
    assert state(model) == before


def test_the_window_holds_the_mass_of_all_heads_and_sequences_together():
    model, inputs = zoo.ZOO["llama"](torch.float64), zoo.inputs("llama", "right", 2, LENGTH)
    real, name = zoo.valid("", inputs), "model.layers.1.self_attn"
    call = watched(model, inputs)[name]
    slopes = torch.tensor([0.9, 0.5, 0.3, 0.2], dtype=torch.float64)
    call = replace(call, wishes=call.wishes | {"alibi": slopes})
    price = layer_prices(model, inputs, {name: (call, brute.found_in(call, real))})[name]
    rows = brute.weights(call).transpose(1, 2)[real]  # of all tokens that are no padding

    def held(width):
        return float((rows * near(width).expand(2, -1, -1)[real][:, None]).sum(-1).mean())

    def near(width):
        return brute.reads(Window(width), LENGTH, LENGTH)

    assert price.pattern == Window(price.width)
    assert held(price.width) >= 0.95 > held(price.width - 1)


def test_a_layer_whose_mass_is_on_the_first_tokens_reads_them_besides(subject):
    model, inputs, calls = subject
    name, call = next(iter(calls.items()))
    bias = torch.where(torch.arange(LENGTH) < 2, 9.0, -0.3 * brute.apart(LENGTH, LENGTH).abs())
    call = replace(call, wishes=call.wishes | {"bias": bias[None, None].double()})
    found = brute.found_in(call, zoo.valid("", inputs))
    with using({"folded": Rates(start=0, call=0, flop=0.01, mask=0)}):  # as in a long text
        price = layer_prices(model, inputs, {name: (call, found)})[name]
    assert isinstance(price.pattern, Longformer)
    assert "and on the first 4 tokens (a window alone takes " in price.sentence
    with swapped(model, price.line) as handle:
        assert (handle.names, handle.attention) == ((name,), price.pattern)


def test_the_loss_rises_by_the_difference_of_two_runs():
    model, inputs = zoo.ZOO["llama"](torch.float64), zoo.inputs("llama", None, 1, LENGTH)
    inputs |= {"labels": inputs["input_ids"]}
    name = "model.layers.2.self_attn"
    price = layer_prices(model, inputs, within(watched(model, inputs), 3, name))[name]
    with torch.no_grad():
        before = model(**inputs).loss
        with hf.swap(model, Window(4), layers=[2]):
            after = model(**inputs).loss
    assert price.loss == pytest.approx(float(after - before), rel=1e-6)
    assert price.loss != 0
    assert price.sentence.endswith(f" %, and its mean loss by {price.loss:+.3g} nats.")


def test_layers_of_two_stacks_are_chosen_by_name_and_cross_attention_has_no_window():
    model = zoo.ZOO["t5"](torch.float64)
    inputs = zoo.inputs("t5", "right", 1, LENGTH)
    inputs["decoder_input_ids"] = inputs["input_ids"].flip(1)
    calls = watched(model, inputs)
    own = "decoder.block.1.layer.0.SelfAttention"
    other = "encoder.block.2.layer.0.SelfAttention"
    cross = "decoder.block.1.layer.1.EncDecAttention"
    prices = layer_prices(model, inputs, within(calls, 3, own, other, cross))
    assert prices[own].line == f"ac.hf.swap(model, ac.Window(4), layers={own!r})"
    assert prices[other].line == f"ac.hf.swap(model, ac.Window(7, ahead=3), layers={other!r})"
    for name in (own, other):
        with swapped(model, prices[name].line) as handle:
            assert handle.names == (name,)
        assert 0 < prices[name].damage < 1
    assert prices[cross].line is None
    assert prices[cross].sentence.startswith("Its keys come from another sequence")


def test_what_cannot_be_swapped_says_why():
    call = brute.seen(Causal(), heads=(4, 4))
    layer = torch.nn.TransformerEncoderLayer(8, 2, batch_first=True)
    found = {"self_attn": (call, brute.concentrated(call, 4))}
    price = layer_prices(layer, {"src": torch.zeros(1, brute.N, 8)}, found)["self_attn"]
    assert (price.line, price.damage, price.pattern) == (None, None, Window(5))
    assert price.sentence.startswith(
        f"95 % of the mass of its 4 heads lies within 5 tokens: a window would cost "
        f"{price.share:.3f} x (its FLOPs: at 300 tokens it takes no less time on a CPU), but "
        "cannot be tried: TransformerEncoderLayer has no layer that asks transformers"
    )


def test_a_model_that_says_nothing_to_compare_has_no_line():
    model, inputs = zoo.ZOO["llama"](), zoo.inputs("llama", None, 1, LENGTH)
    name, calls = "model.layers.0.self_attn", watched(model, inputs)
    model.register_forward_hook(lambda _module, _inputs, output: {"hidden": output.logits})
    price = layer_prices(model, inputs, within(calls, 3, name))[name]
    assert (price.line, price.damage, price.pattern) == (None, None, Window(4))
    assert "LlamaForCausalLM returns neither last_hidden_state nor logits" in price.sentence


def test_nothing_runs_where_no_window_is_cheaper():
    call = brute.seen(Full(), n=40, heads=(1, 1))
    hidden = torch.zeros(1, 40, dtype=torch.bool)
    found = {
        "near": (call, brute.concentrated(call, 0)),
        "none": (call, brute.found_in(call, hidden)),
    }
    near, none = layer_prices(Untouched(), {}, found).values()
    assert near.sentence == (
        "95 % of the mass of its head lies on the token itself, but no window is cheaper at 40 "
        "tokens."
    )
    assert none.sentence.startswith("None of its queries that count reads anything")


class Untouched(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.near, self.none = torch.nn.Identity(), torch.nn.Identity()

    def forward(self):
        raise AssertionError("nothing is to be tried")


def test_a_layer_that_the_model_does_not_have_is_refused():
    call, model = brute.seen(Full(), n=8), Untouched()
    model.self_attn = torch.nn.MultiheadAttention(8, 2)
    found = {"self_atn": (call, brute.found_in(call))}
    with pytest.raises(UnknownName, match=r"no attention layer is called 'self_atn'; .*_attn'"):
        layer_prices(model, {}, found)


def test_statistics_of_another_call_have_no_layer_price():
    call, other = brute.seen(Full(), n=8), brute.seen(Full(), n=9)
    found = {"near": (call, brute.found_in(other))}
    with pytest.raises(ShapeError, match=r"\(1, 4, 8, 8\), got some of \(1, 4, 9, 9\)"):
        layer_prices(Untouched(), {}, found)


def test_the_help_shows_no_address():
    assert " at 0x" not in str(inspect.signature(layer_prices))


def test_inputs_with_a_cache_are_refused():
    model = zoo.ZOO["llama"]()
    with pytest.raises(UnsupportedOption, match="cannot be run twice: leave past_key_values out"):
        layer_prices(model, {"past_key_values": object()}, {})
