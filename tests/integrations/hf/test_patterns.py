"""A layer reads what its model allows and its pattern reads, wherever a text begins."""

import pytest
import torch
from tests.integrations.hf import zoo
from tests.oracle import definition
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

from attncost import BigBird, Block, Causal, Fixed, Full, Strided, UnsupportedOption, Window, hf

LENGTH = 24
PATTERNS = [
    Window(5),
    Window(7, ahead=3),
    Strided(4),
    Fixed(4, summary=1),
    Block(8),
    BigBird(4),
    ~Window(3),
]

LENGTHS = (11, 7, 12)
_ENDS = torch.tensor([0, 11, 18, 30], dtype=torch.int32)
ENDS = {"cu_seq_lens_q": _ENDS, "cu_seq_lens_k": _ENDS, "max_length_q": 12, "max_length_k": 12}


def alone(batch, sequence):
    """Return one sequence of a batch without its padding."""
    kept = batch["attention_mask"][sequence].bool()
    return {"input_ids": batch["input_ids"][sequence, kept][None]}


def with_masks(model, batch, masks):
    """Return what a model computes whose layers read these masks, by the definition."""
    left = list(masks)

    def attend(_module, query, key, value, _mask, scaling=None, **_rest):
        out, _ = definition(query, key, value, left.pop(0), scaling)
        return out.transpose(1, 2), None

    AttentionInterface.register("defined", attend)
    AttentionMaskInterface.register("defined", sdpa_mask)
    model.set_attn_implementation("defined")
    found = zoo.evaluated(model, batch)
    assert not left
    return found


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@pytest.mark.parametrize("name", ["llama", "gemma3", "bert"])
def test_a_pattern_equals_its_dense_mask(name, pattern):
    model, batch = zoo.ZOO[name](torch.float64), zoo.inputs(name)
    with hf.swap(model, pattern, layers=[0, -1]):
        found = zoo.evaluated(model, batch)
    hosts = {
        "bert": [Full(), Full(), Full()],
        "gemma3": [Window(zoo.WIDTH), Window(zoo.WIDTH), Causal()],
    }.get(name, [Causal(), Causal(), Causal()])
    own = [pattern, Full(), pattern]
    masks = [
        host.mask(LENGTH, LENGTH) & one.mask(LENGTH, LENGTH)
        for host, one in zip(hosts, own, strict=True)
    ]
    torch.testing.assert_close(found, with_masks(model, batch, masks), rtol=0, atol=1e-10)


@pytest.mark.parametrize("padding", ["left", "right"])
@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@pytest.mark.parametrize("name", ["llama", "modernbert"])
def test_padding_changes_nothing(name, pattern, padding):
    model, batch = zoo.ZOO[name](torch.float64), zoo.inputs(name, padding)
    # Angles are float32 and differ by 1e-7 unless positions are those of the text.
    batch["position_ids"] = (batch["attention_mask"].cumsum(1) - 1).clamp(min=0)
    with hf.swap(model, pattern):
        together = zoo.evaluated(model, batch)
        for sequence, kept in enumerate(zoo.valid(name, batch)):
            expected = zoo.evaluated(model, alone(batch, sequence))[0]
            torch.testing.assert_close(together[sequence, kept], expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("pattern", [Full(), *PATTERNS], ids=str)
@pytest.mark.parametrize("name", zoo.DECODERS)
def test_packed_documents_equal_separate_ones(name, pattern):
    model, batch = zoo.ZOO[name](torch.float64), zoo.packed(name)
    # The mask of gpt-oss in transformers 5.24 does not look at positions.
    ends = ENDS if name == "gpt_oss" else {}
    with hf.swap(model, pattern):
        found = zoo.evaluated(model, batch | {"use_cache": False} | ends)
        for tokens, expected in zip(
            batch["input_ids"].split(LENGTHS, 1), found.split(LENGTHS, 1), strict=True
        ):
            alone = zoo.evaluated(model, {"input_ids": tokens})
            torch.testing.assert_close(alone, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["bert", "modernbert"])
def test_packed_documents_of_an_encoder_are_given_by_their_ends(name):
    model, row = zoo.ZOO[name](torch.float64), zoo.packed(name)
    with hf.swap(model, Window(7, ahead=3)):
        found = zoo.evaluated(model, row | ENDS)
        for tokens, positions, expected in zip(
            row["input_ids"].split(LENGTHS, 1),
            row["position_ids"].split(LENGTHS, 1),
            found.split(LENGTHS, 1),
            strict=True,
        ):
            alone = zoo.evaluated(model, {"input_ids": tokens, "position_ids": positions})
            torch.testing.assert_close(alone, expected, rtol=0, atol=1e-10)


def test_documents_may_have_one_token():
    model, lengths = zoo.ZOO["llama"](torch.float64), (1, 1, 5, 1)
    batch = zoo.packed("llama", lengths)
    with hf.swap(model, Window(4)):
        with pytest.raises(UnsupportedOption, match="begin anew at token 1"):
            zoo.evaluated(model, batch)
        found = zoo.evaluated(model, batch | {"use_cache": False})
        alone = [
            zoo.evaluated(model, {"input_ids": x}) for x in batch["input_ids"].split(lengths, 1)
        ]
    torch.testing.assert_close(found, torch.cat(alone, 1), rtol=0, atol=1e-10)


def test_documents_may_be_given_by_their_ends():
    model, batch = zoo.ZOO["llama"](torch.float64), zoo.packed("llama")
    with hf.swap(model, Window(5)):
        expected = zoo.evaluated(model, batch | {"use_cache": False})
        torch.testing.assert_close(
            zoo.evaluated(model, batch | ENDS | {"use_cache": True}), expected
        )


@pytest.mark.parametrize("name", ["mistral", "gemma2", "gemma3", "modernbert", "gpt_oss"])
def test_the_own_window_of_a_model_changes_nothing(name):
    model, batch = zoo.ZOO[name](torch.float64), zoo.inputs(name, "left")
    sliding = {"mistral": None}.get(name, is_sliding)
    ahead = zoo.WIDTH // 2 if name == "modernbert" else 0
    own = Window(zoo.WIDTH + (1 if ahead else 0), ahead=ahead)
    hf.register("exact")
    model.set_attn_implementation("exact")
    expected = zoo.evaluated(model, batch)
    with hf.swap(model, own, layers=sliding):
        assert torch.equal(zoo.evaluated(model, batch), expected)


def is_sliding(_name, module):
    return module.sliding_window is not None


@pytest.mark.parametrize("name", ["llama", "gpt2", "qwen3"])
def test_a_token_just_outside_the_window_changes_nothing(name):
    layers = {"n_layer": 1} if name == "gpt2" else {"num_hidden_layers": 1}
    model, batch = zoo.ZOO[name](**layers), zoo.inputs(name, batch=1)
    width, token = 6, 20
    with hf.swap(model, Window(width)):
        before = zoo.evaluated(model, batch)[0, token]
        seen = []
        for changed in (token - width, token - width + 1):
            edited = {"input_ids": batch["input_ids"].clone()}
            edited["input_ids"][0, changed] = 2
            seen.append(torch.equal(zoo.evaluated(model, edited)[0, token], before))
    assert seen == [True, False]
