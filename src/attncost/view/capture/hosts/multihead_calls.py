"""What a call of PyTorch's multi-head attention reads, in our words.

Queries and keys are made inside of it, so they are projected a second time here: O(n e^2). Read are
`multi_head_attention_forward`, a `torch.nn.MultiheadAttention` by what its `forward` is given, and
a `torch.nn.TransformerEncoderLayer` that computes by itself, past its attention's `forward`. A
nested tensor is laid out as padded.
"""

from inspect import signature
from types import SimpleNamespace
from typing import Final, final

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import layer_norm, linear, multi_head_attention_forward

from attncost.nn.torch_masks import TorchMasks
from attncost.patterns.full import Full
from attncost.view.capture.hosts.function_calls import (
    Call,
    Given,
    Read,
    causal_from_the_first,
    check_visible,
    said,
    wishes_of,
)
from attncost.view.capture.hosts.once import Once

_FUNCTION: Final = signature(multi_head_attention_forward)
_MODULE: Final = signature(nn.MultiheadAttention.forward)
_LAYER: Final = signature(nn.TransformerEncoderLayer.forward)


@final
class MultiheadCalls:
    """Reads calls; a mask that a model hands to layer after layer is looked at once."""

    def __init__(self) -> None:
        self._said = Once(_said)

    def of_function(self, *args: Given, **kwargs: Given) -> Call:
        """Return a call of `multi_head_attention_forward`.

        Raises:
            UnsupportedOption: If its tensors cannot be looked at.
        """
        bound = _FUNCTION.bind(*args, **kwargs)
        bound.apply_defaults()
        given = SimpleNamespace(**bound.arguments)
        check_visible("multi_head_attention_forward", given.query, given.key, given.value)
        if given.query.dim() == 2:
            given.query, given.key, given.value = (
                x[:, None] for x in (given.query, given.key, given.value)
            )
            if given.key_padding_mask is not None:
                given.key_padding_mask = given.key_padding_mask[None]
        q, k, v = _projected(given)
        keys, more = k.shape[2], (given.bias_k is not None) + bool(given.add_zero_attn)
        k, v = _followed(k, given.bias_k, given), _followed(v, given.bias_v, given)
        hint = given.is_causal and given.attn_mask is not None
        if hint and given.key_padding_mask is None and not given.need_weights:
            # PyTorch then takes the hint at its word and never looks at the mask.
            read = Read(causal_from_the_first(q.shape[2], k.shape[2]))
        else:
            read = self._read(given, q, k[:, :, :keys], more)
        wishes = wishes_of(**read._asdict())
        return Call(q, k, v, read.pattern, wishes, cross=_crosses(given.query, given.key))

    def of_module(self, module: nn.MultiheadAttention, *args: Given, **kwargs: Given) -> Call:
        """Return the call that a module makes when it is given this.

        Raises:
            UnsupportedOption: If its tensors cannot be looked at.
        """
        bound = _MODULE.bind(module, *args, **kwargs)
        bound.apply_defaults()
        given = SimpleNamespace(**bound.arguments)
        if given.query.is_nested and given.query.layout == torch.strided:
            # PyTorch takes one for queries, keys and values alike, and no masks beside it.
            given.query, given.key_padding_mask = _padded(given.query)
            given.key = given.value = given.query
        if module.batch_first and given.query.dim() == 3:
            first = given.query.transpose(0, 1)
            # What is one tensor stays one.
            rest = (
                first if x is given.query else x.transpose(0, 1) for x in (given.key, given.value)
            )
            given.query, (given.key, given.value) = first, rest
        return self.of_function(
            given.query,
            given.key,
            given.value,
            module.embed_dim,
            module.num_heads,
            module.in_proj_weight,
            module.in_proj_bias,
            module.bias_k,
            module.bias_v,
            module.add_zero_attn,
            0.0,
            module.out_proj.weight,
            module.out_proj.bias,
            key_padding_mask=given.key_padding_mask,
            need_weights=given.need_weights,
            attn_mask=given.attn_mask,
            use_separate_proj_weight=not module._qkv_same_embed_dim,
            q_proj_weight=module.q_proj_weight,
            k_proj_weight=module.k_proj_weight,
            v_proj_weight=module.v_proj_weight,
            is_causal=given.is_causal,
        )

    def of_layer(self, layer: nn.TransformerEncoderLayer, *args: Given, **kwargs: Given) -> Call:
        """Return the call of a layer that computes all at once.

        Raises:
            UnsupportedOption: If its tensors cannot be looked at.
        """
        bound = _LAYER.bind(layer, *args, **kwargs)
        bound.apply_defaults()
        given = SimpleNamespace(**bound.arguments)
        x, padding = given.src, given.src_key_padding_mask
        if x.is_nested:
            x, padding = _padded(x)
        if layer.norm_first:
            norm = layer.norm1
            x = layer_norm(x, norm.normalized_shape, norm.weight, norm.bias, norm.eps)
        # All at once, a layer heeds its masks and no hint.
        return self.of_module(
            layer.self_attn, x, x, x, key_padding_mask=padding, attn_mask=given.src_mask
        )

    def _read(self, given: Given, q: Tensor, k: Tensor, more: int) -> Read:
        """Return what the masks of a call say of its keys, and of `more` that all queries read."""
        mask, padding = given.attn_mask, given.key_padding_mask
        if more or (mask is not None and mask.dim() != 2):
            masks = TorchMasks(mask, padding, False)
            pattern, key_mask, bias = masks.reading(Full(), q, k, more=more)
            return Read(pattern, key_mask, None, bias)
        read = Read() if mask is None else self._said(mask).of_batch(len(q))
        _, key_mask, bias = TorchMasks(None, padding, False).reading(Full(), q, k)
        if key_mask is not None and read.key_mask is not None:
            key_mask = key_mask & read.key_mask
        if bias is not None and read.bias is not None:
            bias = bias + read.bias
        return read._replace(
            key_mask=read.key_mask if key_mask is None else key_mask,
            bias=read.bias if bias is None else bias,
        )


def _said(mask: Tensor) -> Read:
    """Return what a mask of pairs says; True hides, numbers are added."""
    return said((~mask if mask.dtype == torch.bool else mask)[None, None])


def is_given_another(module: nn.MultiheadAttention, *args: Given, **kwargs: Given) -> bool:
    """Say whether a module is given keys of another sequence than its queries."""
    given = _MODULE.bind(module, *args, **kwargs).arguments
    return _crosses(given["query"], given["key"])


def _padded(nested: Tensor) -> tuple[Float[Tensor, "b n e"], Tensor]:
    """Return sequences as padded, and where there is padding."""
    lengths = torch.tensor([len(one) for one in nested.unbind()], device=nested.device)
    padded = torch.nested.to_padded_tensor(nested, 0.0)
    return padded, torch.arange(padded.shape[1], device=nested.device) >= lengths[:, None]


def _projected(given: Given) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values by heads."""
    apart = (given.q_proj_weight, given.k_proj_weight, given.v_proj_weight)
    weights = apart if given.use_separate_proj_weight else given.in_proj_weight.chunk(3)
    biases = (None,) * 3 if given.in_proj_bias is None else given.in_proj_bias.chunk(3)
    instead = (None, given.static_k, given.static_v)
    batch, heads = given.query.shape[1], given.num_heads
    q, k, v = (
        linear(x, weight, bias).unflatten(-1, (heads, -1)).permute(1, 2, 0, 3)
        if known is None
        else known.unflatten(0, (batch, heads))
        for x, weight, bias, known in zip(
            (given.query, given.key, given.value), weights, biases, instead, strict=True
        )
    )
    return q, k, v


def _followed(x: Float[Tensor, "b h m d"], learned: Tensor | None, given: Given) -> Tensor:
    """Return keys or values with those behind them that all queries read."""
    behind = []
    if learned is not None:
        one = learned.view(1, given.num_heads, 1, -1)
        behind.append(one.expand(len(x), -1, -1, -1).to(x.dtype))
    if given.add_zero_attn:
        behind.append(torch.zeros_like(x[:, :, :1]))
    return torch.cat([x, *behind], 2) if behind else x


def _crosses(query: Tensor, key: Tensor) -> bool:
    """Say whether keys are of another sequence: of one, they are made of the same numbers."""
    if query is key:
        return False
    return query.is_nested or query.shape != key.shape or not torch.equal(query, key)
