"""What is captured of a model of transformers gives the weights that eager returns."""

from pathlib import Path

import pytest
import torch
import transformers
from tests.integrations.hf import zoo
from tests.view.capture.theirs import eager_weights, in_their_order, model, real_queries, run

from attncost import Causal, Full, Window, hf
from attncost.integrations.pretrained import demo_folder
from attncost.view.capture.capture import capture

MODELS = ("bert", "gpt2", "llama", "qwen3", "gemma2", "gpt_oss", "modernbert", "t5")
NOVEL = Path(__file__).parents[3] / "examples/data/pride_and_prejudice.txt"


def farthest(captured, name, batch, expected):
    """Return the largest difference of any weight of a query that is no padding."""
    pairs = zip(in_their_order(captured), expected, strict=True)
    return max(
        float(
            (captured.last(layer).weights() - weights)
            .where(real_queries(name, batch, layer), torch.zeros(()))
            .abs()
            .max()
        )
        for layer, weights in pairs
    )


@pytest.mark.parametrize("padding", zoo.PADDINGS)
@pytest.mark.parametrize("name", MODELS)
def test_weights_are_those_of_eager_and_outputs_stay_to_the_last_bit(name, padding):
    # As loaded, with no switch to eager: https://github.com/huggingface/transformers/issues/31990
    batch = zoo.inputs(name, padding)
    before = zoo.evaluated(model(name), batch)
    with capture(model(name)) as captured:
        after = zoo.evaluated(model(name), batch)
    assert torch.equal(before, after)
    assert farthest(captured, name, batch, eager_weights(model(name), batch)) <= 1e-5
    assert captured.missed == ()


def test_an_image_is_captured_with_its_patches():
    batch = zoo.inputs("vit")
    with capture(model("vit")) as captured:
        run(model("vit"), batch)
    assert farthest(captured, "vit", batch, eager_weights(model("vit"), batch)) <= 1e-5
    assert captured.last("layers.0.attention").q.shape == (2, 4, 17, 16)


@pytest.mark.parametrize("padding", zoo.PADDINGS)
@pytest.mark.parametrize("name", ["bert", "llama", "t5", "gemma2"])
def test_our_own_attention_is_captured_as_well(name, padding):
    batch, own = zoo.inputs(name, padding), (zoo.ZOO[name])()
    own.set_attn_implementation(hf.register("attncost"))
    with capture(own) as captured:
        run(own, batch)
    assert farthest(captured, name, batch, eager_weights(model(name), batch)) <= 1e-5


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
@pytest.mark.parametrize("name", ["llama", "mistral"])
def test_a_written_out_mask_is_kept_in_a_few_words(name, implementation):
    batch, own = zoo.inputs(name, "left"), zoo.ZOO[name]()
    own.set_attn_implementation(implementation)
    with capture(own, layers=[0]) as captured:
        run(own, batch)
    (seen,) = captured["model.layers.0.self_attn"]
    assert seen.pattern == (Causal() if name == "llama" else Window(zoo.WIDTH))
    assert seen.wishes["bias"] is None
    assert torch.equal(seen.wishes["key_mask"], batch["attention_mask"].bool())


def test_queries_of_padding_that_read_nothing_have_weights_of_zero():
    batch = zoo.inputs("llama", "left")
    with capture(model("llama")) as captured:
        run(model("llama"), batch)
    for name in captured:
        weights = captured.last(name).weights()
        padded = ~batch["attention_mask"].bool()
        assert weights.isfinite().all()
        assert not weights.transpose(1, 2)[padded].any()


def test_packed_documents_are_told_apart():
    batch = zoo.packed("llama") | {"use_cache": False}
    with capture(model("llama")) as captured:
        run(model("llama"), batch)
    lengths = (
        captured.last("model.layers.2.self_attn")
        .wishes["segments"]
        .unique_consecutive(return_counts=True)[1]
    )
    assert lengths.tolist() == [11, 7, 12]
    assert farthest(captured, "llama", batch, eager_weights(model("llama"), batch)) <= 1e-5


@pytest.mark.parametrize("kind", ["boolean", "lowest", "weighted"])
def test_a_mask_of_any_pairs_is_kept_once_for_all_layers(kind, generator):
    reads = (torch.rand(2, 1, 24, 24, generator=generator) > 0.5) | torch.eye(24, dtype=torch.bool)
    hidden = torch.zeros(()).where(reads, torch.finfo(torch.float32).min)
    mask = {
        "boolean": reads,
        "lowest": hidden,
        "weighted": hidden + torch.randn(2, 1, 24, 24, generator=generator),
    }[kind]
    batch = zoo.inputs("llama")
    with capture(model("llama")) as captured:
        run(model("llama"), batch | {"attention_mask": mask})
    added = mask if kind == "weighted" else hidden
    expected = eager_weights(model("llama"), batch | {"attention_mask": added})
    assert farthest(captured, "llama", batch, expected) <= 1e-5
    kept = {captured.last(name).wishes["bias"].data_ptr() for name in captured}
    assert len(kept) == 1


def test_an_encoder_and_a_decoder_of_other_lengths_are_captured():
    sizes = {"encoder_attention_heads": 4, "decoder_attention_heads": 4, "init_std": 0.12}
    bart = zoo.made(
        "BartModel",
        "BartConfig",
        **sizes,
        vocab_size=zoo.VOCABULARY,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=64,
        dropout=0.0,
    )
    batch = zoo.inputs("bert", "right") | {
        "decoder_input_ids": zoo.tokens(torch.Generator().manual_seed(2), 2, 7)
    }
    with capture(bart) as captured:
        run(bart, batch)
    encoder, decoder, across = (captured.last(name) for name in in_their_order(captured))
    expected = eager_weights(bart, batch)
    real = batch["attention_mask"].bool()[:, None, :, None]
    assert torch.allclose(encoder.weights() * real, expected[0] * real, atol=1e-5)
    assert torch.allclose(decoder.weights(), expected[1], atol=1e-5)
    assert torch.allclose(across.weights(), expected[2], atol=1e-5)
    assert across.weights().shape == (2, 4, 7, 24)
    assert [one.cross for one in (encoder, decoder, across)] == [False, False, True]


def test_all_layers_of_t5_share_one_bias_and_across_there_is_none():
    with capture(model("t5")) as captured:
        run(model("t5"), zoo.inputs("t5"))
    biases = {
        (name.split(".")[0], seen.cross, None if bias is None else bias.data_ptr())
        for name in captured
        for seen in captured[name]
        for bias in [seen.wishes["bias"]]
    }
    assert len(biases) == 3
    assert [bias for _, cross, bias in biases if cross] == [None]


def test_real_weights_on_real_text_have_the_weights_of_eager():
    tokenizer = transformers.AutoTokenizer.from_pretrained(demo_folder())
    minilm = transformers.AutoModel.from_pretrained(demo_folder(), dtype=torch.float32).eval()
    lines = [line for line in NOVEL.read_text().splitlines()[:8] if line]
    batch = dict(tokenizer(lines, padding=True, return_tensors="pt"))
    with capture(minilm) as captured:
        run(minilm, batch)
    assert len(captured) == 6
    assert farthest(captured, "bert", batch, eager_weights(minilm, batch)) <= 1e-5


@pytest.mark.parametrize("cache", [None, "static"])
@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_every_generated_token_is_captured_with_the_keys_of_the_cache(name, cache):
    batch, own = zoo.inputs(name, "left"), zoo.ZOO[name]()
    asked = batch | {"max_new_tokens": 3, "do_sample": False}
    kind = {} if cache is None else {"cache_implementation": cache}
    with capture(own) as captured:
        tokens = own.generate(**asked, **kind)
    own.set_attn_implementation("eager")
    theirs = own.generate(**asked, output_attentions=True, return_dict_in_generate=True)
    assert torch.equal(tokens, theirs.sequences)
    real = batch["attention_mask"].bool()[:, None, :, None]
    for number, layer in enumerate(captured):
        first, *others = captured[layer]
        assert torch.allclose(
            first.weights() * real, theirs.attentions[0][number] * real, atol=1e-5
        )
        for step, seen in enumerate(others, 1):
            assert torch.allclose(seen.weights(), theirs.attentions[step][number], atol=1e-5)


def test_a_training_step_is_the_same_to_the_last_bit():
    gpt2 = zoo.made(
        "GPT2LMHeadModel", "GPT2Config", vocab_size=97, n_embd=16, n_layer=2, n_head=2
    ).train()
    ids = zoo.inputs("gpt2")["input_ids"]

    def gradients(*, captures):
        torch.manual_seed(3)
        gpt2.zero_grad()
        if captures:
            with capture(gpt2) as captured:
                gpt2(input_ids=ids, labels=ids).loss.backward()
        else:
            captured = None
            gpt2(input_ids=ids, labels=ids).loss.backward()
        return captured, [parameter.grad.clone() for parameter in gpt2.parameters()]

    (_, plain), (captured, watched) = gradients(captures=False), gradients(captures=True)
    assert all(map(torch.equal, plain, watched))
    seen = captured.last("transformer.h.1.attn")
    assert not seen.q.requires_grad
    assert "dropout_p" not in seen.wishes


def test_checkpoints_of_activations_give_each_call_twice():
    gpt2 = zoo.ZOO["gpt2"]().train()
    gpt2.activation_checkpointing_enable()
    ids = zoo.inputs("gpt2")["input_ids"]
    with capture(gpt2) as captured:
        gpt2(input_ids=ids, labels=ids, use_cache=False).loss.backward()
    assert [len(captured[name]) for name in captured] == [2, 2, 2]
    assert all(torch.equal(first.q, again.q) for first, again in captured.values())


def test_layers_without_a_mask_read_all_or_what_lies_before():
    for name, pattern in (("bert", Full()), ("llama", Causal())):
        with capture(model(name)) as captured:
            run(model(name), zoo.inputs(name))
        assert {captured.last(layer).pattern for layer in captured} == {pattern}
