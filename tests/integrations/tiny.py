"""Tiny models of random weights in folders, with a tokenizer that knows some words."""

import json

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = ["the", "cat", "sat", "on", "mat", "a", "dog", "ran", "and", "it", "was", "not", "here"]
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
MARKS = ("<pad>", "<s>", "</s>", "<unk>")


def save_tokenizer(folder):
    """Save one that puts a mark at the beginning and one at the end."""
    words = Tokenizer(
        models.WordLevel(
            {word: number for number, word in enumerate((*MARKS, *WORDS))}, unk_token="<unk>"
        )
    )
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", bos_token="<s>", eos_token="</s>"
    ).save_pretrained(folder)


def save_bert(folder, *, tokenizer=True, weights=True, **more):
    """Save an encoder with positions for 24 tokens."""
    sizes = {"vocab_size": 32, "intermediate_size": 32, "max_position_embeddings": 24} | more
    return _saved(folder, transformers.BertConfig(**SIZES, **sizes), tokenizer, weights)


def save_llama(folder, **more):
    """Save a decoder with grouped keys."""
    sizes = {"vocab_size": 32, "intermediate_size": 32, "num_key_value_heads": 1}
    config = transformers.LlamaConfig(**SIZES, **(sizes | more), pad_token_id=0)
    return _saved(folder, config, True, True)


def save_t5(folder):
    """Save an encoder with a decoder."""
    config = transformers.T5Config(
        vocab_size=32,
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
    )
    return _saved(folder, config, True, True)


def save_vit(folder):
    """Save an encoder of images of 8 x 8 pixels, four patches each."""
    config = transformers.ViTConfig(**SIZES, intermediate_size=32, image_size=8, patch_size=4)
    found = _saved(folder, config, False, True)
    settings = {"size": {"height": 8, "width": 8}}
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    return found


def _saved(folder, config, tokenizer, weights):
    torch.manual_seed(0)
    if weights:
        transformers.AutoModel.from_config(config).save_pretrained(folder)
    else:
        config.save_pretrained(folder)
    if tokenizer:
        save_tokenizer(folder)
    return folder
