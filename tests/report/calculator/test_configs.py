"""The page reads a config.json as this package does, or refuses it."""

import json
import random

import pytest
from tests.report.calculator.engine import engine

from attncost.cost.reading import understood
from attncost.report.calculator.exported import exported
from attncost.report.calculator.model import expressed

_SIZES = {"hidden_size": 512, "num_attention_heads": 8, "num_hidden_layers": 3}
_DECODER = {**_SIZES, "intermediate_size": 1000, "vocab_size": 999}
_READ = """
  return given.map((said) => {
    try { return engine.readConfig(said) } catch (error) { return error.message }
  })
"""


@pytest.fixture(scope="module")
def read(browser, tmp_path_factory):
    with engine(browser, exported(), tmp_path_factory.mktemp("configs")) as ask:
        yield lambda *said: ask(_READ, list(said))


def _drawn(drawn):
    kind = drawn.choice(["llama", "mistral", "qwen2", "qwen3", "gpt2", "bert"])
    if kind == "gpt2":
        found = {"n_embd": 96, "n_head": drawn.choice([1, 4, 6]), "n_layer": 2, "vocab_size": 77}
        found |= drawn.choice([{}, {"n_inner": 100}, {"n_positions": 64, "n_inner": None}])
    else:
        found = dict(_DECODER)
        found |= drawn.choice([{}, {"num_key_value_heads": 4}]) if kind != "bert" else {}
        found |= drawn.choice([{}, {"head_dim": 80}]) if kind != "bert" else {}
        found |= {"max_position_embeddings": drawn.choice([32, 512])} if kind == "bert" else {}
    if kind in ("qwen2", "qwen3"):
        found.setdefault("num_key_value_heads", 8)
    heads = {"gpt2": "GPT2LMHeadModel", "bert": "BertForMaskedLM"}.get(kind, "XForCausalLM")
    found |= drawn.choice([{}, {"architectures": [heads]}, {"architectures": ["XModel"]}])
    for flag in ("tie_word_embeddings", "attention_bias", "mlp_bias"):
        found |= drawn.choice([{}, {flag: True}, {flag: False}]) if kind != "bert" else {}
    found |= drawn.choice([{}, {"sliding_window": None}, {"sliding_window": 128}])
    return {"model_type": kind, **found}


def test_random_configs_are_read_as_the_package_reads_them(read):
    drawn = random.Random(21)
    configs = [_drawn(drawn) for _ in range(200)]
    for config, found in zip(configs, read(*configs), strict=True):
        assert isinstance(found, dict), (found, config)
        expected = expressed(understood(config, name="it", source="a test"))
        assert {key: found[key] for key in expected} == expected, json.dumps(config)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ([], "must hold an object"),
        ({}, "got null: use `attncost report FOLDER` instead"),
        ({"model_type": "mixtral"}, 'got "mixtral"'),
        ({"model_type": "__proto__"}, "This page reads a model_type of"),
        ({"model_type": "</script>" * 99}, "This page reads a model_type of"),
        ({"model_type": "llama"}, "lacks the size num_hidden_layers"),
        ({"model_type": "llama", **_DECODER, "hidden_size": 1e300}, "whole number from 1"),
        ({"model_type": "llama", **_DECODER, "hidden_size": "512"}, "whole number from 1"),
        ({"model_type": "llama", **_DECODER, "num_attention_heads": 7}, "must divide"),
        ({"model_type": "qwen3", **_DECODER, "use_sliding_window": True}, "layers with windows"),
        ({"model_type": "bert", **_DECODER, "is_decoder": True}, "is a decoder"),
        (
            {"model_type": "llama", **_DECODER, "architectures": ["LlamaForTokenClassification"]},
            "has the head of",
        ),
    ],
)
def test_what_no_size_says_is_refused_in_a_line(read, config, reason):
    (found,) = read(config)
    assert isinstance(found, str)
    assert reason in found
    assert "\n" not in found
    assert len(found) < 250
