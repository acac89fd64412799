"""What MODEL names: a module without weights, and inputs of any length."""

import json
import sys

import huggingface_hub
import pytest
import torch
import transformers
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS as MASKS
from transformers.masking_utils import sliding_window_causal_mask_function

from attncost.core.errors import AttnCostError, ShapeError, UnknownName
from attncost.cost.counting.count import count
from attncost.cost.counting.told import told
from attncost.cost.reading import preset, presets
from attncost.integrations.hf.telling import telling
from attncost.integrations.weightless import weightless

TINY = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "intermediate_size": 64,
    "vocab_size": 50,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "d_model": 32,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 64,
}
LLAMA = TINY | {"model_type": "llama", "architectures": ["LlamaForCausalLM"]}


@pytest.fixture
def folder(tmp_path):
    def write(settings):
        (tmp_path / "config.json").write_text(json.dumps(settings))
        return str(tmp_path)

    return write


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write a module of the user's, and go to its folder."""
    monkeypatch.chdir(tmp_path)

    def write(text):
        (tmp_path / "theirs_for_tests.py").write_text("import torch\nfrom torch import nn\n" + text)

    yield write
    sys.modules.pop("theirs_for_tests", None)


def on_meta(module):
    return all(tensor.is_meta for tensor in (*module.parameters(), *module.buffers()))


@pytest.mark.parametrize(
    ("architecture", "built"),
    [
        ({"model_type": "llama", "architectures": ["LlamaForCausalLM"]}, "LlamaForCausalLM"),
        ({"model_type": "llama"}, "LlamaModel"),
        ({"model_type": "bert", "architectures": ["BertForMaskedLM"]}, "BertForMaskedLM"),
        (
            {"model_type": "bert", "architectures": ["BertForSequenceClassification"]},
            "BertForSequenceClassification",
        ),
        (
            {
                "model_type": "gpt2",
                "architectures": ["GPT2LMHeadModel"],
                "n_layer": 1,
                "n_embd": 24,
            },
            "GPT2LMHeadModel",
        ),
        (
            {"model_type": "bart", "architectures": ["BartForConditionalGeneration"]},
            "BartForConditionalGeneration",
        ),
        ({"model_type": "mixtral", "architectures": ["MixtralForCausalLM"]}, "MixtralForCausalLM"),
        ({"model_type": "deberta-v2", "pad_token_id": 0}, "DebertaV2Model"),
    ],
)
def test_the_architecture_says_what_is_built(architecture, built, folder):
    target = weightless(folder(TINY | architecture))
    call = target.call(16, batch=2)
    assert type(call.module).__name__ == built
    assert not call.module.training
    assert on_meta(call.module)
    assert call.options["input_ids"].shape == (2, 16)
    assert ("decoder_input_ids" in call.options) is (built.startswith("Bart"))
    counted = target.counted(16)
    assert counted.dense > 0
    assert counted.unpriced == ()


def test_a_count_is_that_of_the_model_with_weights(folder):
    path = folder(LLAMA)
    config = transformers.AutoConfig.from_pretrained(path)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    ids = torch.zeros(1, 24, dtype=torch.long)
    with torch.no_grad():
        real = count(model, input_ids=ids, use_cache=True)
    bare = weightless(path).counted(24)
    assert (bare.dense, bare.useful, bare.parameters) == (real.dense, real.useful, real.parameters)


def test_formulas_of_presets_agree_with_what_is_counted():
    assert "llama-3-8b" in presets()
    for name in ("llama-3-8b", "qwen3-4b", "gpt-3"):
        counted, sizes = weightless(name).counted(128), preset(name)
        assert counted.useful == sizes.cost(128).useful, name
        assert counted.dense == sizes.cost(128).dense, name
        assert counted.parameters == sizes.parameters, name


def test_a_backward_pass_costs_twice_the_forward_one(folder):
    for name in (folder(LLAMA), "layer:d_model=16,heads=2"):
        target = weightless(name)
        trained = target.counted(16, training=True)
        assert trained.model.dense == 3 * target.counted(16).dense
        assert trained.backward.dense == 2 * trained.forward.dense


def test_a_layer_has_one_name():
    target = weightless("layer:heads=2,d_model=16")
    assert target.name == "layer:d_model=16,heads=2"
    assert target.counted(8, batch=3).useful == 3 * target.configuration.cost(8).useful


def test_a_window_on_the_meta_device_is_told_of_by_its_rule():
    own = MASKS["sdpa"]
    asked = {
        "batch_size": 2,
        "q_length": 16,
        "kv_length": 16,
        "mask_function": sliding_window_causal_mask_function(5),
        "local_size": 5,
    }
    with telling():
        mask, real = (MASKS["sdpa"](**asked, device=device) for device in ("meta", "cpu"))
    assert told(mask) == int(real.sum()) > 0
    assert told(real) is None
    assert told(mask.clone()) is None
    with pytest.raises(ZeroDivisionError), telling():
        _ = 1 / 0
    assert MASKS["sdpa"] is own, "put back, also after an exception"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("layer:d_model=15,heads=2", "heads must divide d_model"),
        ("layer:width=3", "no size of a layer is called 'width'"),
        ("layer:heads=0", "heads of layer must lie between 1 and 65,536, got 0"),
        ("", "the model has no name"),
        ("dmo", "did you mean 'demo'"),
        ("nobody/nothing", "no model, folder, preset or model in the cache is called"),
        ("no_such_module:f", "there is no module 'no_such_module' here"),
        ("a b:c", "expected package.module:factory, got 'a b:c'"),
        ("json:dump", "json:dump needs obj, fp"),
        ("json:dmp", "no function in json is called 'dmp'; did you mean 'dump'"),
    ],
)
def test_what_names_nothing_is_explained_in_one_line(text, reason):
    with pytest.raises(AttnCostError, match=reason) as caught:
        weightless(text).call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"model_type": "mine", "auto_map": {"AutoModel": "m.M"}}, "needs code of its own"),
        ({"model_type": "lama"}, "did you mean 'llama'"),
        ({"hidden_size": 32}, r"config\.json of .* has no model_type"),
        (LLAMA | {"hidden_size": "x"}, "hidden_size of .* must be a whole number .* got 'x'"),
        (LLAMA | {"num_hidden_layers": -3}, "num_hidden_layers of .* must be .*, got -3"),
        (LLAMA | {"hidden_size": 33}, r"raised .* in .*'validate_architecture': .*\(33\) is not"),
        (LLAMA | {"architectures": ["NoSuchThing"]}, "'NoSuchThing', .* it has LlamaForCausalLM,"),
        (LLAMA | {"architectures": "LlamaForCausalLM"}, "must be a list of names"),
        ({"model_type": "vit"}, "reads more than tokens"),
        ({"model_type": "whisper"}, "give it as package.module:function"),
    ],
)
def test_a_model_that_cannot_be_built_is_explained_in_one_line(settings, reason, folder):
    with pytest.raises(AttnCostError, match=reason) as caught:
        weightless(folder(settings))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_what_is_no_configuration_is_explained(text, tmp_path):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ShapeError, match=r"is not JSON|must hold an object"):
        weightless(str(tmp_path))
    (tmp_path / "config.json").unlink()
    with pytest.raises(ShapeError, match=r"has no config\.json"):
        weightless(str(tmp_path))


def test_a_model_in_the_cache_is_found_by_its_name(folder, monkeypatch):
    path = folder(LLAMA)

    def found(name, _):
        return f"{path}/config.json" if name == "somebody/tiny" else None

    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", found)
    assert weightless("somebody/tiny").counted(8).dense == weightless(path).counted(8).dense


def test_positions_that_were_learned_end_and_others_do_not(folder):
    bert = weightless(folder(TINY | {"model_type": "bert"}))
    assert (bert.usual, bert.longest) == (64, 64)
    with pytest.raises(ShapeError, match="has positions for 64 tokens, got a length of 65"):
        bert.call(65)
    opt = TINY | {"model_type": "opt", "ffn_dim": 64, "word_embed_proj_dim": 32}
    assert weightless(folder(opt)).longest == 64
    llama = weightless(folder(LLAMA))
    assert (llama.usual, llama.longest) == (64, None)
    assert llama.counted(100).dense > 0


@pytest.mark.parametrize(("length", "batch"), [(0, 1), (8, 0), (-3, None)])
def test_sizes_must_be_positive(length, batch):
    with pytest.raises(ShapeError, match="must be at least 1"):
        weightless("layer").call(length, batch=batch)


def test_a_factory_is_given_the_sizes_that_it_takes(package):
    package("def make(length, batch):\n    return nn.Linear(3, 5), torch.zeros(batch, length, 3)\n")
    target = weightless("theirs_for_tests:make")
    call = target.call(7, batch=2)
    assert on_meta(call.module)
    assert call.inputs[0].shape == (2, 7, 3)
    assert target.counted(7, batch=2).dense == 2 * 2 * 7 * 3 * 5


def test_a_factory_may_return_a_module_alone_and_inputs_by_name(package):
    package(
        "def tokens():\n    return nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 2))\n"
        "class Named(nn.Module):\n"
        "    def forward(self, *, x):\n        return x @ x.mT\n"
        "def named():\n    return Named(), {'x': torch.zeros(3, 4)}\n"
        "def unknown():\n    return nn.Linear(3, 3)\n"
    )
    assert weightless("theirs_for_tests:tokens").counted(5).dense == 2 * 5 * 4 * 2
    named = weightless("theirs_for_tests:named")
    assert named.usual is None
    assert named.counted().dense == 2 * 3 * 4 * 3
    with pytest.raises(ShapeError, match="returns inputs of its own sizes"):
        named.counted(5)
    with pytest.raises(ShapeError, match="a Linear, whose inputs cannot be guessed"):
        weightless("theirs_for_tests:unknown").call()


def test_a_factory_that_needs_values_gets_them(package):
    package(
        "def make():\n"
        "    width = int(torch.tensor(4).item())\n"
        "    return nn.Linear(width, 2), torch.zeros(3, width)\n"
    )
    call = weightless("theirs_for_tests:make").call()
    assert not call.module.weight.is_meta
    assert weightless("theirs_for_tests:make").counted().dense == 2 * 3 * 4 * 2


def test_an_error_in_a_factory_or_its_module_says_where_it_was_raised(package):
    package(
        "def make():\n    raise KeyError('width\\nof it')\n"
        "class Values(nn.Module):\n"
        "    def forward(self, x):\n        return x if x.sum().item() else x\n"
        "def values():\n    return Values(), torch.zeros(3)\n"
    )
    with pytest.raises(ShapeError, match=r"raised KeyError in theirs_for_tests\.py:4") as caught:
        weightless("theirs_for_tests:make")
    assert "\n" not in str(caught.value)
    with pytest.raises(ShapeError, match=r"theirs_for_tests\.py:7.*inside `with torch.device"):
        weightless("theirs_for_tests:values").counted()


def test_what_a_module_of_the_user_lacks_is_an_error_of_that_module(package):
    package("import no_such_package_anywhere\n")
    with pytest.raises(ShapeError, match=r"raised ModuleNotFoundError in theirs_for_tests\.py:3"):
        weightless("theirs_for_tests:make")
    with pytest.raises(UnknownName, match="no function in json"):
        weightless("json:nothing")


def test_without_transformers_the_extra_is_named(folder, monkeypatch):
    path = folder(LLAMA)
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(AttnCostError, match=r"attncost\[hf\]"):
        weightless(path)
