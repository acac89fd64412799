"""Tiny models with texts of random tokens, and outputs computed without the code under test."""

import torch
import transformers
from tests.integrations.tiny import save_tokenizer

from attncost.train.quality.models.reading import Reading

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 48,
    "vocab_size": 61,
    "initializer_range": 0.3,
}


def bert():
    torch.manual_seed(0)
    config = transformers.BertConfig(**SIZES, max_position_embeddings=160)
    return transformers.BertModel._from_config(config, attn_implementation="sdpa").eval()


def llama():
    torch.manual_seed(0)
    config = transformers.LlamaConfig(**SIZES, num_key_value_heads=1, pad_token_id=None)
    return transformers.LlamaForCausalLM._from_config(config, attn_implementation="sdpa").eval()


def gpt2():
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_embd=32, n_layer=2, n_head=2, vocab_size=61, n_positions=160, initializer_range=0.3
    )
    return transformers.GPT2LMHeadModel._from_config(config, attn_implementation="sdpa").eval()


def texts(generator, *lengths):
    return tuple(
        tuple(torch.randint(61, (length,), generator=generator).tolist()) for length in lengths
    )


def reading(model, some, pooling):
    return Reading(name="tiny", model=model, texts=some, pooling=pooling)


def dense(pattern, n, *, causal):
    """Return the pairs that a model reads under a pattern, written out."""
    place = torch.arange(n)
    reads = pattern.allowed(place[:, None], place[None, :]).expand(n, n)
    return reads.tril() if causal else reads


def eager(model, text, reads):
    """Run a model of transformers by its own eager attention under a complete mask."""
    model.set_attn_implementation("eager")
    try:
        mask = torch.zeros(reads.shape).masked_fill(~reads, torch.finfo(torch.float32).min)
        with torch.no_grad():
            return model(
                input_ids=torch.tensor([text]),
                attention_mask=mask[None, None],
                output_hidden_states=True,
            )
    finally:
        model.set_attn_implementation("sdpa")


def save_llama_that_writes(folder):
    """Save one with its logits, and a tokenizer."""
    llama().save_pretrained(folder)
    save_tokenizer(folder)
    return folder
