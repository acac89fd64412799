"""Models that go their own way are served whole, or it is said what is not served."""

import pytest
import torch
import transformers
from tests.integrations.hf import zoo
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from attncost import Causal, Fixed, Full, UnsupportedOption, Window, hf

SMALL = {
    "vocab_size": zoo.VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
SEQ2SEQ = {
    "vocab_size": zoo.VOCABULARY,
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 2,
}


def made(model, config, **sizes):
    torch.manual_seed(0)
    return getattr(transformers, model)(getattr(transformers, config)(**sizes)).eval()


def test_a_model_that_passes_over_block_masks_is_refused():
    # Doge adds to its mask only if that is no BlockMask, and then hands on one that hides nothing.
    model, batch = made("DogeForCausalLM", "DogeConfig", **SMALL), zoo.inputs("llama")
    message = "DogeAttention treats the masks of flex attention in its own way"
    with hf.swap(model, Full()), pytest.raises(UnsupportedOption, match=message):
        zoo.evaluated(model, batch)


def test_a_model_that_computes_with_its_mask_is_refused_in_words():
    # Bloom takes a name as it is, and adds the mask to its scores.
    model = made(
        "BloomForCausalLM", "BloomConfig", vocab_size=97, hidden_size=32, n_layer=1, n_head=4
    )
    model.config._attn_implementation = hf.register("exact")
    with pytest.raises(UnsupportedOption, match="cuts or changes its attention mask itself"):
        zoo.evaluated(model, zoo.inputs("llama", "right"))


def test_the_tokens_of_a_decoder_that_does_not_call_itself_causal_are_no_other_sequence():
    sizes = SEQ2SEQ | {"block_size": 8, "num_global_tokens": 2}
    model = made("PegasusXForConditionalGeneration", "PegasusXConfig", **sizes)
    batch = zoo.inputs("t5", length=16)
    own = zoo.evaluated(model, batch)
    with hf.swap(model, Full()) as swapped:
        assert swapped.names == tuple(f"model.decoder.layers.{i}.self_attn" for i in (0, 1))
        torch.testing.assert_close(zoo.evaluated(model, batch), own)
    with hf.swap(model, Window(2)):
        assert not torch.allclose(zoo.evaluated(model, batch), own)


def test_layers_that_compute_attention_themselves_are_named():
    sizes = {
        "d_model": 32,
        "d_kv": 8,
        "d_ff": 64,
        "num_layers": 2,
        "num_heads": 4,
        "local_radius": 4,
    }
    model = made(
        "LongT5ForConditionalGeneration", "LongT5Config", vocab_size=97, pad_token_id=0, **sizes
    )
    name = "encoder.block.0.layer.0.LocalSelfAttention"
    with hf.swap(model, Full()) as swapped:
        assert swapped.names == tuple(f"decoder.block.{i}.layer.0.SelfAttention" for i in (0, 1))
        assert f"not served, as it computes itself: {name}" in str(swapped)
        assert name in hf.explain(model, **zoo.inputs("t5")).others
    assert "not served" not in str(hf.swap(zoo.ZOO["t5"](), Full()))


def llava():
    text = transformers.LlamaConfig(**SMALL | {"eos_token_id": None})
    vision = transformers.CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        image_size=16,
        patch_size=8,
    )
    return made(
        "LlavaForConditionalGeneration",
        "LlavaConfig",
        text_config=text,
        vision_config=vision,
        image_token_index=96,
    )


def test_what_was_registered_for_another_part_stays_there():
    model, batch = llava(), zoo.inputs("llama", length=12)
    hf.register("w4", Window(4))
    model.set_attn_implementation({"text_config": "w4", "vision_config": "eager"})
    windowed = zoo.evaluated(model, batch)
    with hf.swap(model, Full(), layers="*vision*"):
        assert torch.equal(zoo.evaluated(model, batch), windowed)
        assert model.config.text_config._attn_implementation == "w4"
    assert model.config.vision_config._attn_implementation == "eager"
    model.set_attn_implementation("eager")
    assert not torch.equal(zoo.evaluated(model, batch), windowed)


def test_a_function_of_the_user_is_not_replaced_in_other_layers():
    AttentionInterface.register("theirs", sdpa_attention_forward)
    AttentionMaskInterface.register("theirs", sdpa_mask)
    model = zoo.ZOO["llama"]()
    model.set_attn_implementation("theirs")
    with pytest.raises(UnsupportedOption, match="computes by 'theirs', which is neither ours nor"):
        hf.swap(model, Window(3), layers=[0])
    assert model.config._attn_implementation == "theirs"
    with hf.swap(model, Window(3)):
        assert model.config._attn_implementation == "attncost"
    assert model.config._attn_implementation == "theirs"


def test_what_the_user_sets_meanwhile_stays():
    model = zoo.ZOO["llama"]()
    swapped = hf.swap(model, Window(3))
    model.set_attn_implementation("eager")
    swapped.restore()
    assert model.config._attn_implementation == "eager"


def test_a_block_that_a_sliding_cache_has_begun_to_drop_is_refused():
    model, batch = zoo.ZOO["mistral"](), zoo.inputs("mistral", length=20)
    with (
        hf.swap(model, Fixed(4, summary=1)),
        pytest.raises(UnsupportedOption, match="which this sliding cache has dropped"),
    ):
        model.generate(**batch, max_new_tokens=3, do_sample=False)


@pytest.mark.parametrize("pattern", [Fixed(4, summary=1), Window(5)], ids=str)
def test_biases_follow_a_text_that_begins_late(pattern):
    model, batch = zoo.ZOO["t5"](torch.float64), zoo.inputs("t5", "left")
    kept = batch["attention_mask"][0].bool()
    alone = {
        "input_ids": batch["input_ids"][:1, kept],
        "decoder_input_ids": batch["decoder_input_ids"][:1],
    }
    with hf.swap(model, pattern):
        found, expected = zoo.evaluated(model, batch)[:1], zoo.evaluated(model, alone)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-10)


def test_a_micro_batch_counts_its_tokens():
    # A mean of means is no mean over tokens: github.com/huggingface/transformers/issues/24725 and
    # pull/34191, github.com/pytorch/torchtune/pull/1875.
    model, batch = zoo.ZOO["llama"](torch.float64), zoo.inputs("llama", "left")
    labels = batch["input_ids"].masked_fill(batch["attention_mask"].cumsum(1) < 2, -100)
    tokens = int((labels[:, 1:] != -100).sum())
    with torch.no_grad(), hf.swap(model, Causal()):
        whole = model(**batch, labels=labels).loss
        parts = [
            model(
                input_ids=batch["input_ids"][i : i + 1],
                attention_mask=batch["attention_mask"][i : i + 1],
                labels=labels[i : i + 1],
                num_items_in_batch=torch.tensor(tokens),
            ).loss
            for i in (0, 1)
        ]
    torch.testing.assert_close(sum(parts), whole)
