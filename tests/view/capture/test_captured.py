"""What a capture holds: chosen layers, heads, rows; and what it says of the rest."""

from collections import OrderedDict

import pytest
import torch
from tests.integrations.hf import zoo
from tests.view.capture.theirs import eager_weights, model, run
from torch import nn

from attncost import ShapeError, UnknownName, UnsupportedOption
from attncost.view.capture.capture import capture

FIRST, SECOND, LAST = (f"model.layers.{number}.self_attn" for number in range(3))
BATCH = zoo.inputs("llama", "left")


class Attends(nn.Module):
    """Attention that nobody knows before it runs."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(8, 24)

    def forward(self, x):
        q, k, v = (
            part.unflatten(2, (2, 4)).transpose(1, 2) for part in self.project(x).chunk(3, 2)
        )
        return nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


def captured(layers=None, **asked):
    with capture(model("llama"), layers, **asked) as found:
        run(model("llama"), BATCH)
    return found


@pytest.mark.parametrize(
    ("layers", "names"),
    [
        (None, [FIRST, SECOND, LAST]),
        ([0, -1], [FIRST, LAST]),
        (range(1, 2), [SECOND]),
        ("model.layers.[12].*", [SECOND, LAST]),
        (LAST, [LAST]),
    ],
    ids=["all", "numbers", "range", "wildcard", "name"],
)
def test_only_chosen_layers_are_captured(layers, names):
    assert list(captured(layers)) == names


def test_a_function_chooses_layers_by_name_and_module():
    def later(name, module):
        return module.layer_idx > 0 and name.startswith("model.")

    assert list(captured(later)) == [SECOND, LAST]


def test_numbers_choose_self_attention_of_encoder_and_decoder_alike():
    with capture(model("t5"), [1]) as found:
        run(model("t5"), zoo.inputs("t5"))
    names = {"encoder.block.1.layer.0.SelfAttention", "decoder.block.1.layer.0.SelfAttention"}
    assert set(found) == names


@pytest.mark.parametrize(
    ("name", "heads"), [("llama", [3, 0]), ("llama", [0, 1, 3]), ("t5", [1, 2])], ids=str
)
def test_chosen_heads_have_their_own_weights(name, heads):
    batch = zoo.inputs(name, "right")
    with capture(model(name)) as every:
        run(model(name), batch)
    with capture(model(name), heads=heads) as some:
        run(model(name), batch)
    for layer in every:
        assert some.last(layer).heads == tuple(heads)
        assert torch.equal(some.last(layer).weights(), every.last(layer).weights()[:, heads])


def test_of_one_head_only_the_keys_that_it_reads_are_kept():
    seen = captured(heads=[3]).last(LAST)
    assert seen.q.shape == (2, 1, 24, 16)
    assert seen.k.shape == (2, 1, 24, 16)


def test_heads_of_layers_that_share_a_bias_share_their_part_of_it():
    with capture(model("t5"), "encoder.*", heads=[2]) as found:
        run(model("t5"), zoo.inputs("t5"))
    assert len({found.last(name).wishes["bias"].data_ptr() for name in found}) == 1


def test_values_are_kept_if_asked_for():
    assert captured().last(LAST).v is None
    assert captured(values=True).last(LAST).v.shape == (2, 2, 24, 16)


@pytest.mark.parametrize("rows", ["last", -1, [0, 5, -1]], ids=str)
def test_rows_are_those_of_the_whole_matrix(rows):
    found = captured(rows=rows)
    numbers = [-1] if rows == "last" else rows if isinstance(rows, list) else [rows]
    expected = eager_weights(model("llama"), BATCH)[-1][:, :, numbers]
    (weights,) = found.weights(LAST)
    real = BATCH["attention_mask"].bool()[:, None, numbers, None]
    assert torch.allclose(weights * real, expected * real, atol=1e-5)


def test_with_rows_no_queries_or_keys_are_held():
    found = captured(rows="last")
    assert found.names == (FIRST, SECOND, LAST)
    assert not dict(found)
    with pytest.raises(UnsupportedOption, match=r"weights\(name\): leave out rows="):
        found.last(LAST)
    with pytest.raises(UnsupportedOption, match=r"those of capture\(rows=\"last\"\)"):
        captured().rows(LAST)


def test_calls_come_in_order():
    with capture(model("llama")) as found:
        for length in (3, 7):
            run(model("llama"), {"input_ids": BATCH["input_ids"][:, :length]})
    assert [[seen.q.shape[2] for seen in found[name]] for name in found] == [[3, 7]] * 3
    assert found.last(LAST) is found[LAST][1]
    assert repr(found) == "Captured(6 calls of 3 layers)"


def test_what_has_not_run_is_missed_so_far():
    with capture(model("llama"), [0]) as found:
        assert found.missed == (FIRST,)
        run(model("llama"), BATCH)
        assert found.missed == ()


def test_layers_that_compute_attention_themselves_are_missed():
    bloom = model("bloom")
    with capture(bloom) as found:
        run(bloom, zoo.inputs("bloom"))
    assert found.missed == ("transformer.h.0.self_attention", "transformer.h.1.self_attention")
    assert repr(found) == "Captured(no call of attention was seen, 2 missed)"


def test_a_single_call_is_counted_in_the_singular():
    assert repr(captured([0])) == "Captured(1 call of 1 layer)"


@pytest.mark.parametrize("asked", [{}, {"rows": "last"}], ids=["whole", "rows"])
def test_a_model_without_attention_says_that_no_call_was_seen(asked):
    linear = nn.Linear(2, 2)
    with capture(linear, **asked) as found:
        linear(torch.zeros(1, 2))
    assert "(no call of attention was seen" in repr(found)
    for ask in (found.weights, found.rows if asked else found.last):
        with pytest.raises(ShapeError, match="no call of attention was seen: run the model inside"):
            ask("weight")
    assert found.get("weight") is None


def test_a_call_is_shown_by_its_sizes_and_not_by_its_numbers():
    assert repr(captured([0]).last(FIRST)) == f"Seen({FIRST!r}: Causal(), b=2, h=4, n=24, m=24)"


@pytest.mark.parametrize("name", ["transformer.h.0.self_attention", "*attention"])
def test_such_a_layer_cannot_be_chosen(name):
    with pytest.raises(
        UnsupportedOption, match=r"h\.0\.self_attention .* computes attention itself"
    ):
        capture(model("bloom"), name)


@pytest.mark.parametrize(
    ("layers", "kind", "message"),
    [
        ("model.layers.0.self_attm", UnknownName, "did you mean 'model.layers.0.self_attn'"),
        ([3], ShapeError, "numbers from -3 to 2"),
        ([], ShapeError, "at least one of 3 layers"),
    ],
    ids=["typo", "beyond", "none"],
)
def test_layers_that_are_not_there_are_refused(layers, kind, message):
    with pytest.raises(kind, match=message):
        capture(model("llama"), layers)


def test_a_function_that_chooses_nothing_is_refused():
    with pytest.raises(ShapeError, match="chose none of the 3 attention layers"):
        capture(model("llama"), lambda name, module: False)


def test_what_was_not_captured_is_named():
    found = captured([0])
    with pytest.raises(UnknownName, match=f"no captured module is called '{LAST}'"):
        found.last(LAST)
    with capture(model("llama")) as nothing, pytest.raises(ShapeError, match="run the model"):
        nothing.weights(LAST)
    assert LAST not in found
    assert found.get(LAST) is None


def test_a_head_that_is_not_there_is_named():
    with capture(model("llama"), heads=[4]), pytest.raises(ShapeError, match="has no head 4"):
        run(model("llama"), BATCH)


def test_rows_and_values_exclude_each_other():
    with pytest.raises(ShapeError, match="leave one of them out"):
        capture(model("llama"), rows="last", values=True)


@pytest.mark.parametrize(
    ("layers", "names"),
    [
        (None, ["encoder.layers.0.self_attn", "decoder.layers.0.self_attn"]),
        ([0], ["encoder.layers.0.self_attn", "decoder.layers.0.self_attn"]),
        ("encoder.*", ["encoder.layers.0.self_attn"]),
    ],
    ids=["all", "numbers", "wildcard"],
)
def test_layers_of_pytorch_are_chosen_alike(layers, names):
    torch.manual_seed(0)
    own = nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)
    with capture(own, layers) as found:
        own(torch.ones(1, 5, 8), torch.ones(1, 3, 8))
    across = "decoder.layers.0.multihead_attn"
    assert list(found) == [*names, *([across] if layers is None else [])]
    assert found.missed == ()


@pytest.mark.parametrize("layers", [None, "attn", "at*"], ids=str)
def test_attention_that_nobody_knows_before_it_runs_is_captured(layers):
    own = nn.Sequential(OrderedDict(attn=Attends()))
    with capture(own, layers) as found:
        own(torch.ones(1, 5, 8))
    assert found.last("attn").weights().shape == (1, 2, 5, 5)
    assert found.missed == ()


def test_such_attention_has_no_number():
    with pytest.raises(
        ShapeError, match=r"one of 0 layers, got \[0\]: .* can be chosen by its name"
    ):
        capture(nn.Sequential(OrderedDict(attn=Attends())), [0])
