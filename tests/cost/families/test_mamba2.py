"""Decoders of Mamba-2 alone."""

import pytest
from tests.cost.families.against import read
from tests.cost.families.stateful import check

from attncost.core.errors import ShapeError
from attncost.cost.reading import preset

SIZES = {
    "model_type": "mamba2",
    "architectures": ["Mamba2ForCausalLM"],
    "vocab_size": 100,
    "hidden_size": 48,
    "num_hidden_layers": 2,
    "num_heads": 6,
    "head_dim": 16,
    "state_size": 10,
    "n_groups": 2,
    "chunk_size": 16,
}


@pytest.mark.parametrize(
    "settings",
    [
        SIZES,
        SIZES | {"use_bias": True, "use_conv_bias": False, "tie_word_embeddings": True},
        SIZES | {"expand": 1, "head_dim": 8, "architectures": ["Mamba2Model"]},
    ],
    ids=["logits", "biased", "narrow"],
)
def test_decoders_are_what_transformers_builds(settings):
    check(settings)


def test_a_state_takes_the_place_of_a_cache():
    """The state of 2.7 billion parameters: 64 layers of (80, 64, 128), and what is convolved."""
    model = preset("mamba2-2.7b")
    assert round(model.parameters / 1e8) == 27
    assert (model.cached(1000), model.softmax_heads, model.caches) == (0, 0, True)
    assert model.state_bytes() == 64 * (80 * 64 * 128 * 4 + (5120 + 2 * 128) * 4 * 2)
    assert model.decode(1).useful == model.decode(100_000).useful


def test_heads_that_are_not_as_wide_as_the_inside_are_refused():
    with pytest.raises(ShapeError, match=r"num_heads \* head_dim .* got 6 \* 16 for 3 \* 48"):
        read(SIZES | {"expand": 3})
