"""Presets of dense models, against the figures that were published of them."""

import pytest

from attncost import Causal, Window
from attncost.cost.reading import preset


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("bert-base", 109_514_298),
        ("gemma-2-9b", 9_241_705_984),
        ("gpt2", 124_439_808),
        ("llama-2-70b", 68_976_648_192),
        ("modernbert-base", 149_655_232),
        ("qwen2.5-7b", 7_615_616_512),
        ("qwen2.5-72b", 72_706_203_648),
        ("t5-small", 60_506_624),
        ("vit-b-16", 86_567_656),
    ],
)
def test_a_preset_has_the_parameters_of_the_published_weights(name, parameters):
    assert preset(name).parameters == parameters


def test_what_reads_text_in_gemma_3_is_the_published_whole_without_what_sees_images():
    """The published weights of Gemma 3 27B have 27,432,406,640 numbers.

    Besides what reads text they hold SigLIP So400m for images of 896 x 896 (arXiv:2303.15343) in
    27 layers of 1152 features and 4304 inside, and a norm and a matrix from there to the decoder.
    """
    d, hidden, decoder = 1152, 4304, 5376
    layer = 4 * (d * d + d) + 2 * d * hidden + hidden + d + 4 * d
    sees = 27 * layer + (3 * 14 * 14 + 1) * d + (896 // 14) ** 2 * d + 2 * d
    assert preset("gemma-3-27b").parameters == 27_432_406_640 - sees - d * decoder - d


@pytest.mark.parametrize(
    ("name", "found"),
    [("llama-2-70b", 327_680), ("qwen2.5-72b", 327_680), ("gpt-oss-120b", 73_728)],
)
def test_a_token_takes_the_published_bytes_in_the_cache(name, found):
    assert preset(name).kv_bytes_per_token() == found


def test_windows_end_the_growth_of_a_cache():
    model = preset("gemma-3-27b")
    assert model.patterns == {Window(1024): 52, Causal(): 10}
    token = 2 * 16 * 128
    assert model.cached(131_072) == token * (52 * 1024 + 10 * 131_072)
