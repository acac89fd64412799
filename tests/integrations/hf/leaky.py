"""Attention functions that leak, each registered with transformers under its own name."""

import torch
from tests.integrations.hf.zoo import ZOO
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask


def attend(module, query, key, value, mask, *, scaling=None, ahead=None, **rest):
    """Compute attention as custom functions do: by the mask if there is one, else causally."""
    group = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(group, 1) for x in (key, value))
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    read = torch.ones(scores.shape[-2:], dtype=torch.bool)
    if mask is not None:
        read = mask
    elif module.is_causal:
        read = read.tril()
    if ahead is not None:
        read = read.expand(scores.shape) | ahead(scores)
    scores = scores.masked_fill(~read, torch.finfo(scores.dtype).min)
    return (scores.softmax(-1) @ value).transpose(1, 2), None


def without_its_mask(module, query, key, value, mask, **rest):
    return attend(module, query, key, value, None, **rest)


def one_head_of_one_layer_peeks(module, *qkv, **rest):
    def ahead(scores):
        peek = torch.zeros(scores.shape, dtype=torch.bool)
        if module.layer_idx == 1:
            peek[:, 3].diagonal(1, -2, -1)[:] = True
        return peek

    return attend(module, *qkv, ahead=ahead, **rest)


def pairs_of_tokens_read_each_other(module, *qkv, **rest):
    def ahead(scores):
        query, key = (torch.arange(tokens) // 2 for tokens in scores.shape[-2:])
        return (query[:, None] == key).expand(scores.shape)

    return attend(module, *qkv, ahead=ahead, **rest)


AttentionInterface.register("test_maskless", attend)
for function in (without_its_mask, one_head_of_one_layer_peeks, pairs_of_tokens_read_each_other):
    AttentionInterface.register(function.__name__, function)
    AttentionMaskInterface.register(function.__name__, sdpa_mask)


def made(name, implementation, dtype=torch.float32):
    model = ZOO[name](dtype)
    model.set_attn_implementation(implementation)
    return model
