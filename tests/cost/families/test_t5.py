"""Encoders and decoders of T5 and mT5."""

import pytest
import torch
import transformers
from tests.cost.families.against import built, check_parameters, read
from tests.cost.families.weighed import check_dense_flops, check_pairs

from attncost import Causal, Full
from attncost.core.errors import ShapeError
from attncost.cost.counting.count import count

SIZES = {
    "model_type": "t5",
    "architectures": ["T5ForConditionalGeneration"],
    "vocab_size": 100,
    "d_model": 48,
    "d_kv": 20,
    "d_ff": 80,
    "num_layers": 2,
    "num_heads": 3,
}
UNEVEN = {"num_decoder_layers": 3, "relative_attention_num_buckets": 16}
GATED = {"model_type": "mt5", "architectures": ["MT5Model"], "feed_forward_proj": "gated-gelu"}


@pytest.mark.parametrize(
    "settings",
    [
        SIZES,
        SIZES | UNEVEN | {"feed_forward_proj": "gated-gelu"},
        SIZES | GATED,
    ],
    ids=range(3),
)
def test_both_halves_are_what_transformers_builds(settings):
    check_parameters(settings)
    check_dense_flops(settings, (1, 13))
    check_pairs(settings)


def test_the_encoder_alone_is_what_transformers_builds():
    settings = SIZES | {"architectures": ["T5EncoderModel"]}
    with torch.device("meta"):
        module = transformers.T5EncoderModel(transformers.T5Config.from_dict(dict(settings))).eval()
        tokens = torch.zeros(1, 13, dtype=torch.long)
    model, found = read(settings), count(module, tokens)
    assert model.parameters == sum(parameter.numel() for parameter in module.parameters())
    assert (model.cost(13).dense, model.core(13).useful) == (found.dense, 2 * 4 * 3 * 13**2 * 20)
    assert not model.caches


def test_the_cache_holds_both_sequences():
    theirs = built(SIZES)
    with torch.no_grad():
        kept = theirs.module(**theirs.inputs(5, 1)).past_key_values
    both = (kept.self_attention_cache, kept.cross_attention_cache)
    numbers = sum(
        layer.keys.numel() + layer.values.numel() for cache in both for layer in cache.layers
    )
    assert read(SIZES).cached(5) == numbers


def test_one_more_token_leaves_the_encoder_and_keys_of_its_tokens_alone():
    model, d, inner = read(SIZES), 48, 60
    # Four projections of its own, a query and an output for the encoder's tokens, up and down.
    linear = 2 * (4 * d * inner + 2 * d * inner + 2 * d * 80) + d * 100
    assert model.decode(7).useful == 2 * linear + 2 * 2 * (4 * 7 * inner)
    assert model.patterns == {Full(): 2, Causal(): 2}


@pytest.mark.parametrize(
    ("settings", "parameters"),
    [
        ({"d_model": 512, "d_ff": 2048, "num_layers": 6, "num_heads": 8}, 60_506_624),
        (
            {
                "d_model": 512,
                "d_ff": 1024,
                "num_layers": 8,
                "num_heads": 6,
                "feed_forward_proj": "gated-gelu",
                "tie_word_embeddings": False,
            },
            76_961_152,
        ),
        (
            {"model_type": "mt5", "d_model": 512, "d_ff": 1024, "num_layers": 8, "num_heads": 6},
            300_176_768,
        ),
    ],
    ids=["t5-small", "flan-t5-small", "mt5-small"],
)
def test_published_sizes_have_their_published_parameters(settings, parameters):
    """As in the published weights, where the head of the second and the third is not tied."""
    whole = {"model_type": "t5", "architectures": ["T5ForConditionalGeneration"]} | settings
    assert read(whole).parameters == parameters


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"architectures": ["T5ForSequenceClassification"]}, "ends in classes"),
        ({"is_encoder_decoder": False}, "is half of an encoder and decoder"),
        ({"feed_forward_proj": "mixed-gelu"}, "feed_forward_proj 'mixed-gelu'"),
        ({"d_kv": 0}, "d_kv .* got 0"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(settings, reason):
    with pytest.raises(ShapeError, match=reason):
        read(SIZES | settings)
