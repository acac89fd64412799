import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.view.maps.reading import read_page
from tests.view.maps.seen import call

import attncost as ac
from attncost.core.errors import ShapeError
from attncost.view.maps.header.layers import GAUGES
from attncost.view.maps.maps import maps
from attncost.view.prices.heads import HeadPrice
from attncost.view.prices.layers import LayerPrice
from attncost.view.statistics.gauges import Gauges
from attncost.view.statistics.statistics import statistics

HEADER = {
    "schema", "title", "subtitle", "command", "version", "notes", "sequences", "scale", "measures",
    "layers",
}  # fmt: skip
LAYER = {
    "name", "number", "queries", "keys", "n", "m", "d", "cross", "causal", "pattern", "scale",
    "softcap", "alibi", "reads", "bias", "keys_of", "swap", "heads",
}  # fmt: skip
HEAD = {"number", "group", "q", "lse", "map", "measures", "received", "entropy", "price"}


@pytest.fixture
def several(generator):
    names = [f"encoder.layer.{i}.attention.self" for i in range(3)]
    return {name: (call(generator, ac.Causal(), n=8, heads=(4, 2), name=name),) for name in names}


def test_the_header_holds_what_the_page_expects_and_is_plain_json(several):
    made = maps(several, title="A model", command="attncost maps demo", prices={})
    header, _ = read_page(made.html())
    assert header == json.loads(json.dumps(made.header))
    assert set(header) == HEADER
    assert header["schema"] == "attncost.maps/1"
    assert header["subtitle"] == "3 layers, 12 heads, 8 tokens"
    for layer in header["layers"]:
        assert set(layer) == LAYER
        assert layer["causal"]
        assert layer["pattern"] == "Causal()"
        assert [head["group"] for head in layer["heads"]] == [0, 0, 1, 1]
        assert len(layer["keys_of"]) == 2
        for head in layer["heads"]:
            assert set(head) == HEAD
            assert {measure["key"] for measure in header["measures"]} <= set(head["measures"])


def test_a_width_that_holds_all_keys_is_no_measure(generator):
    long = call(generator, ac.Causal(), n=70, heads=(1, 1), name="long")
    keys = {measure["key"] for measure in maps({"long": (long,)}, prices={}).header["measures"]}
    assert {key for key in keys if key.startswith("within")} == {"within_16", "within_64"}


def test_what_is_not_known_without_values_is_said(several):
    notes = maps(several, prices={}).header["notes"]
    assert any("values=True" in note for note in notes)
    seen = next(iter(several.values()))[0]
    known = replace(seen, v=seen.k)
    assert not any(
        "values=True" in note for note in maps({"": (known,)}, prices={}).header["notes"]
    )


def test_a_step_of_a_generation_is_called_the_last_tokens(generator):
    step = call(generator, ac.Causal(), n=1, m=31, heads=(1, 1), name="layer")
    assert maps({"layer": (step,)}).header["subtitle"] == "1 layer, 1 head, the last 1 of 31 tokens"


def test_numbers_of_layers_are_those_in_their_names(several):
    names = [*several][::-2]
    header, _ = read_page(maps({name: several[name] for name in names}, prices={}).html())
    assert [layer["number"] for layer in header["layers"]] == [2, 0]


def test_a_model_that_is_the_layer_is_called_so(several):
    made = maps({"": next(iter(several.values()))}, prices={})
    assert [layer["name"] for layer in made.header["layers"]] == ["the model"]
    assert repr(made) == "Maps('Attention maps': 1 layer, 4 heads, 8 tokens)"


def test_without_calls_there_is_nothing_to_show():
    with ac.capture(torch.nn.MultiheadAttention(8, 2), rows="last") as captured:
        pass
    with pytest.raises(ShapeError, match="no call of attention was seen: run the model inside"):
        maps(captured)
    model, x = torch.nn.MultiheadAttention(8, 2).eval(), torch.zeros(4, 1, 8)
    with ac.capture(model, rows="last") as captured:
        model(x, x, x)
    with pytest.raises(ShapeError, match=r"were kept, .* inside `with .*, and leave rows= out"):
        maps(captured)


def test_calls_as_long_as_the_last_are_shown(generator):
    calls = tuple(
        call(generator, ac.Causal(), n=n, m=m) for n, m in ((4, 4), (1, 5), (1, 6), (1, 6))
    )
    header, _ = read_page(maps({"shared": calls}, prices={}, tokens=list("abcdefg")).html())
    assert [layer["name"] for layer in header["layers"]] == ["shared (call 1)", "shared (call 2)"]
    assert header["sequences"][0]["tokens"] == list("abcdef")
    assert any("2 of 4 calls" in note for note in header["notes"])


def test_layers_that_see_the_same_keys_hold_them_once(several):
    (first,) = several["encoder.layer.0.attention.self"]
    alike = {f"layers.{i}": (first,) for i in range(3)}
    once = maps(alike, prices={}).blocks.bytes
    assert once == maps({"layers.0": (first,)}, prices={}).blocks.bytes


def test_the_pooled_map_holds_the_mean_mass_of_blocks(generator):
    seen = call(generator, ac.Causal(), n=300, size=2.0)
    header, decode = read_page(maps({"layer": (seen,)}, prices={}).html())
    pooled = decode(header["layers"][0]["heads"][1]["map"])
    weights = seen.weights()[0, 1].double().numpy()
    assert pooled.shape == (100, 100)
    expected = weights.reshape(100, 3, 100, 3).sum(3).mean(1)
    read = np.tril(np.ones((100, 100), bool))
    assert ((pooled > 0) == read).all()
    value = 1e-6 ** (1 - (pooled - 1.0) / 254)
    step = 1e6 ** (0.51 / 254)
    small = read & (expected < 1e-6)
    assert (pooled[small] == 1).all()
    large = read & ~small
    assert (np.abs(np.log(value[large] / expected[large])) <= np.log(step)).all()


def test_entropy_and_attention_received_are_those_of_the_weights(generator):
    seen = call(generator, ac.Causal())
    header, decode = read_page(maps({"layer": (seen,)}, prices={}).html())
    for head, weights in zip(header["layers"][0]["heads"], seen.weights()[0].double(), strict=True):
        entropy = torch.special.entr(weights).sum(-1)
        np.testing.assert_allclose(decode(head["entropy"]), entropy, atol=2e-6)
        np.testing.assert_allclose(decode(head["received"]), weights.mean(0), atol=2e-6)
        assert head["measures"]["entropy"] == pytest.approx(entropy.mean().item(), rel=1e-4)


def test_statistics_that_are_given_are_not_made_again(generator):
    seen = call(generator, ac.Causal(), batch=2)
    found = statistics(seen.q, seen.k, None, seen.pattern, gauges=GAUGES)
    # What was not measured shows that it is taken.
    told = replace(found, entropy=found.entropy + 7)
    header, decode = read_page(
        maps({"layer": (seen,)}, statistics={"layer": told}, prices={}, sequence=1).html()
    )
    got = decode(header["layers"][0]["heads"][1]["entropy"])
    np.testing.assert_allclose(got, found.entropy[1, 1] + 7, rtol=1e-6)


def test_statistics_that_are_missing_are_made_with_the_gauges_of_the_others(several):
    first, second, third = several
    given = {
        name: statistics(*_tensors(several[name]), gauges=Gauges(widths=widths))
        for name, widths in ((first, (3, 5)), (second, (3, 5)), (third, (7,)))
    }
    header, _ = read_page(maps(several, statistics={first: given[first]}, prices={}).html())
    keys = {measure["key"] for measure in header["measures"]}
    assert {"within_3", "within_5"} <= keys
    for layer in header["layers"]:
        assert {*layer["heads"][0]["measures"]} == keys
    with pytest.raises(ShapeError, match="statistics must all have the same gauges, got Gauges"):
        maps(several, statistics=given)


def _tensors(calls):
    return calls[-1].q, calls[-1].k, None, calls[-1].pattern


def test_the_width_holds_the_mass_and_counts_the_query_itself(generator):
    seen = call(generator, ac.Causal(), size=3.0)
    header, _ = read_page(maps({"layer": (seen,)}, prices={}).html())
    far = torch.arange(24)[:, None] - torch.arange(24)
    for head, weights in zip(header["layers"][0]["heads"], seen.weights()[0].double(), strict=True):
        near = [float(weights[far < width].sum() / 24) for width in range(25)]
        assert (
            near[int(head["measures"]["width"])] >= 0.95 > near[int(head["measures"]["width"]) - 1]
        )


def test_prices_that_are_given_stand_beside_heads_and_layers(generator):
    seen = replace(call(generator, ac.Causal(), heads=(2, 2)), heads=(3, 7))
    head = HeadPrice(head=7, width=4, share=0.25, moves=0.125, sentence="A window would do.")
    layer = LayerPrice(name="layer", share=0.5, line="swap()", damage=0.01, sentence="It moves.")
    header, _ = read_page(maps({"layer": (seen,)}, prices={"layer": ([head], layer)}).html())
    (entry,) = header["layers"]
    assert entry["swap"] == {
        "line": "swap()",
        "sentence": "It moves.",
        "share": 0.5,
        "damage": 0.01,
    }
    assert [one["number"] for one in entry["heads"]] == [3, 7]
    assert entry["heads"][0]["price"] is None
    price = {"sentence": "A window would do.", "width": 4, "share": 0.25, "moves": 0.125}
    assert entry["heads"][1]["price"] == price


def test_heads_have_prices_unasked(generator):
    header, _ = read_page(maps({"layer": (call(generator, ac.Causal()),)}).html())
    (layer,) = header["layers"]
    assert layer["swap"] is None
    assert all(head["price"]["sentence"] for head in layer["heads"])


def test_maps_of_a_model_without_attention_say_that_no_call_was_seen():
    linear = torch.nn.Linear(2, 2)
    with ac.capture(linear) as captured:
        linear(torch.zeros(1, 2))
    with pytest.raises(ShapeError, match="no call of attention was seen: run the model inside"):
        maps(captured)
