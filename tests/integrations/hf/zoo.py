"""Tiny models of Hugging Face with random weights, and batches for them."""

import os
from contextlib import contextmanager
from functools import partial
from unittest.mock import patch

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
import transformers

transformers.logging.set_verbosity_error()

VOCABULARY = 97
WIDTH = 8
ENCODERS = ("bert", "distilbert", "modernbert", "vit")
PADDINGS = (None, "right", "left")

# Weights large enough that scores differ by about 1, so that a wrong scale or cap shows.
SHARP = {"initializer_range": 0.12}
TINY = SHARP | {
    "vocab_size": VOCABULARY,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 128,
}
# Without an end token, generation always runs to its full length.
ENDLESS = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": None}
GROUPED = TINY | ENDLESS | {"num_key_value_heads": 2}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def made(model, config, dtype=torch.float32, **sizes):
    """Return a model by the names of its class and its configuration's."""
    torch.manual_seed(0)
    model = getattr(transformers, model)(getattr(transformers, config)(**sizes))
    return model.to(dtype).eval()


# Each is a function of the dtype that makes the same weights every time.
ZOO = {
    "llama": partial(made, "LlamaForCausalLM", "LlamaConfig", **GROUPED),
    "mistral": partial(
        made, "MistralForCausalLM", "MistralConfig", **GROUPED, sliding_window=WIDTH
    ),
    # The cap on scores is low, so that it bends those of random weights, too.
    "gemma2": partial(
        made,
        "Gemma2ForCausalLM",
        "Gemma2Config",
        **GROUPED,
        head_dim=16,
        query_pre_attn_scalar=16,
        sliding_window=WIDTH,
        attn_logit_softcapping=2.0,
        final_logit_softcapping=30.0,
    ),
    "gemma3": partial(
        made,
        "Gemma3ForCausalLM",
        "Gemma3TextConfig",
        **GROUPED,
        head_dim=16,
        query_pre_attn_scalar=16,
        sliding_window=WIDTH,
        layer_types=["sliding_attention", "sliding_attention", "full_attention"],
    ),
    "qwen3": partial(made, "Qwen3ForCausalLM", "Qwen3Config", **GROUPED, head_dim=16),
    "gpt_oss": partial(
        made,
        "GptOssForCausalLM",
        "GptOssConfig",
        **GROUPED,
        head_dim=16,
        sliding_window=WIDTH,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        num_local_experts=2,
        num_experts_per_tok=1,
        experts_implementation="eager",  # the other one knows no float64
    ),
    "gpt2": partial(
        made,
        "GPT2LMHeadModel",
        "GPT2Config",
        **ENDLESS,
        **SHARP,
        vocab_size=VOCABULARY,
        n_positions=128,
        n_embd=64,
        n_layer=3,
        n_head=4,
        attn_pdrop=0.0,
        embd_pdrop=0.0,
        resid_pdrop=0.0,
    ),
    "bert": partial(made, "BertModel", "BertConfig", **TINY, **NO_DROPOUT),
    "distilbert": partial(
        made,
        "DistilBertModel",
        "DistilBertConfig",
        **SHARP,
        vocab_size=VOCABULARY,
        dim=64,
        hidden_dim=128,
        n_layers=3,
        n_heads=4,
        max_position_embeddings=128,
        dropout=0.0,
        attention_dropout=0.0,
    ),
    "modernbert": partial(
        made,
        "ModernBertModel",
        "ModernBertConfig",
        **TINY,
        local_attention=WIDTH,
        global_attn_every_n_layers=3,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        cls_token_id=1,
        sep_token_id=2,
    ),
    "t5": partial(
        made,
        "T5ForConditionalGeneration",
        "T5Config",
        vocab_size=VOCABULARY,
        d_model=64,
        d_kv=16,
        d_ff=128,
        num_layers=3,
        num_heads=4,
        dropout_rate=0.0,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=None,
    ),
    "vit": partial(
        made,
        "ViTModel",
        "ViTConfig",
        **SHARP,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=3,
        num_attention_heads=4,
        image_size=32,
        patch_size=8,
        **NO_DROPOUT,
    ),
}
_FROM_ONE = TINY | NO_DROPOUT | {"pad_token_id": 1}
# Those that differ in how they count positions, or in what keeps their texts apart.
MORE = {
    "roberta": partial(made, "RobertaModel", "RobertaConfig", **_FROM_ONE),
    "xlmr": partial(made, "XLMRobertaModel", "XLMRobertaConfig", **_FROM_ONE),
    "esm": partial(
        made,
        "EsmModel",
        "EsmConfig",
        **_FROM_ONE,
        mask_token_id=3,
        position_embedding_type="absolute",
    ),
    "mpnet": partial(made, "MPNetModel", "MPNetConfig", **_FROM_ONE),
    "qwen2": partial(made, "Qwen2ForCausalLM", "Qwen2Config", **GROUPED),
    "mixtral": partial(made, "MixtralForCausalLM", "MixtralConfig", **GROUPED, num_local_experts=4),
    "opt": partial(
        made,
        "OPTForCausalLM",
        "OPTConfig",
        vocab_size=97,
        hidden_size=64,
        word_embed_proj_dim=64,
        ffn_dim=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=128,
        init_std=0.12,
    ),
    "t5_encoder": partial(
        made,
        "T5EncoderModel",
        "T5Config",
        vocab_size=97,
        d_model=64,
        d_kv=16,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        pad_token_id=0,
    ),
    "bloom": partial(
        made,
        "BloomForCausalLM",
        "BloomConfig",
        vocab_size=97,
        hidden_size=64,
        n_layer=2,
        n_head=4,
        initializer_range=0.12,
    ),
}
# Capped scores and sinks are more than torch's own attention can do.
EAGER_ONLY = ("gemma2", "gpt_oss")
DECODERS = tuple(name for name in ZOO if name not in (*ENCODERS, "t5"))


def inputs(name, padding=None, batch=2, length=24):
    """Return a batch, the same every time; its first sequence has the padding, if any."""
    generator = torch.Generator().manual_seed(1)
    if name == "vit":
        return {"pixel_values": torch.randn(batch, 3, 32, 32, generator=generator)}
    made = {"input_ids": tokens(generator, batch, length)}
    if padding is not None:
        mask, hidden = torch.ones(batch, length, dtype=torch.long), length // 3
        mask[0, slice(-hidden, None) if padding == "right" else slice(hidden)] = 0
        made |= {"attention_mask": mask, "input_ids": made["input_ids"] * mask}
    if name == "t5":
        made["decoder_input_ids"] = tokens(generator, batch, 10)
    return made


def tokens(generator, batch, length):
    """Return random tokens, none of them a special one."""
    return torch.randint(3, VOCABULARY, (batch, length), generator=generator)


def packed(name, lengths=(11, 7, 12)):
    """Return documents one after another in one row, told apart by positions that start anew."""
    made = inputs(name, batch=1, length=sum(lengths))
    positions = torch.cat([torch.arange(length) for length in lengths])
    return made | {"position_ids": positions[None]}


def outputs(model, inputs):
    """Return the logits, or what the last layer returns where there are none."""
    if "pixel_values" in inputs:
        inputs = inputs | {"pixel_values": inputs["pixel_values"].to(model.dtype)}
    found = model(**inputs)
    return found.logits if "logits" in found else found.last_hidden_state


def evaluated(model, inputs):
    """Return the outputs without gradients."""
    with torch.no_grad():
        return outputs(model, inputs)


def valid(name, inputs):
    """Return which rows of the outputs belong to tokens that count, as a mask (batch, rows)."""
    if name == "vit":  # 16 patches and the token that stands for the whole picture
        return torch.ones(len(inputs["pixel_values"]), 17, dtype=torch.bool)
    if name == "t5":
        return torch.ones_like(inputs["decoder_input_ids"], dtype=torch.bool)
    ids = inputs["input_ids"]
    return inputs.get("attention_mask", torch.ones_like(ids)).bool()


@contextmanager
def softmax_in_float64():
    """Let `eager` be an oracle in float64: most models take their softmax in float32 always.

    It then has 7 digits, and where all keys are hidden the lowest float64 becomes minus infinity
    and the row NaN, which the next layer spreads to every token.
    """
    theirs = torch.nn.functional.softmax

    def softmax(scores, dim, dtype=None, **rest):
        return theirs(scores, dim, dtype=scores.dtype, **rest)

    with patch("torch.nn.functional.softmax", softmax):
        yield
