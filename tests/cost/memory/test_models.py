import pytest
import torch
from tests.cost.memory.real_calls import measured, predicted

from attncost.integrations.architecture import bare

transformers = pytest.importorskip("transformers")

SIZES = {
    "vocab_size": 64,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 2048,
    "pad_token_id": None,
}
HEADS = {"llama": "AutoModelForCausalLM", "bert": "AutoModelForMaskedLM"}


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(
    ("kind", "how", "n"),
    [
        ("llama", "sdpa", 512),
        ("llama", "eager", 256),
        ("bert", "sdpa", 512),
        ("bert", "eager", 256),
    ],
)
def test_two_layers_of_a_model_are_exact_with_weights_and_without(kind, how, n, training):
    config = transformers.AutoConfig.for_model(kind, **SIZES)
    auto = getattr(transformers, HEADS[kind])
    real = auto.from_config(config, attn_implementation=how).eval()
    real.config.pad_token_id = None
    tokens = torch.zeros(1, n, dtype=torch.long)
    options = {"use_cache": True} if kind == "llama" else {}
    if training:
        options["labels"] = tokens.clone()
    found = predicted(real, tokens, training=training, **options)
    assert found.above == pytest.approx(
        measured(real, tokens, training=training, **options), abs=64
    )
    assert found.exact, found.at_least
    without = bare(lambda settled: auto.from_config(settled, attn_implementation=how), config)
    nowhere = {
        name: value.to("meta") if isinstance(value, torch.Tensor) else value
        for name, value in options.items()
    }
    assert predicted(without, tokens.to("meta"), training=training, **nowhere) == found


@pytest.mark.parametrize("hidden", [0, 100, None], ids=["hides nothing", "padding", "no mask"])
@pytest.mark.parametrize("kind", HEADS)
def test_a_mask_is_left_out_where_the_real_run_leaves_it_out(kind, hidden):
    config = transformers.AutoConfig.for_model(kind, **SIZES)
    auto = getattr(transformers, HEADS[kind])
    real = auto.from_config(config, attn_implementation="sdpa").eval()
    tokens = torch.ones(1, 256, dtype=torch.long)
    options = {"labels": tokens.clone()} | ({"use_cache": False} if kind == "llama" else {})
    if hidden is not None:
        options["attention_mask"] = (torch.arange(256) < 256 - hidden).long()[None]
    found = predicted(real, tokens, training=True, **options)
    assert found.above == measured(real, tokens, training=True, **options)
    assert found.exact, found.at_least
