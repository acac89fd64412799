"""What a module of attention computes, from its weights and the definition of attention."""

import torch
from tests.nn.test_rope import turned
from tests.oracle import definition


def normalised(x, norm):
    return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * norm.weight


def projected(layer, x, context=None):
    """Return queries, keys and values of `layer`, normalised and rotated if it does so."""
    h, g, d = layer.heads, layer.kv_heads, layer.head_dim
    rows = torch.arange((h + 2 * g) * d).view(h + 2 * g, d)
    found = []
    for tokens, heads in ((x, rows[:h]), (context, rows[h : h + g]), (context, rows[h + g :])):
        tokens = x if tokens is None else tokens  # noqa: PLW2901 -- it is read, too
        y = torch.einsum("bnc,hdc->bhnd", tokens, layer.qkv.weight[heads])
        found.append(y if layer.qkv.bias is None else y + layer.qkv.bias[heads][:, None])
    q, k, v = found
    if layer.q_norm is not None:
        q, k = normalised(q, layer.q_norm), normalised(k, layer.k_norm)
    if layer.rope is not None:
        q, k = (turned(x, base=layer.rope.base, dims=layer.rope.dims) for x in (q, k))
    return q, k, v


def attended(layer, x, context=None, **options):
    """Return the output of `layer` with a pattern."""
    q, k, v = projected(layer, x, context)
    mask = layer.attention.mask(q.shape[2], k.shape[2])
    mixed, _ = definition(q, k, v, mask, **options)
    return combined(layer, mixed)


def combined(layer, mixed):
    weight = layer.out.weight.view(layer.d_model, layer.heads, layer.head_dim)
    out = torch.einsum("bhnd,chd->bnc", mixed, weight)
    return out if layer.out.bias is None else out + layer.out.bias
