"""Modules whose attention is written in the ways that people write it, for `benchmarks.counting`.

Nothing here knows what it costs. Functions that counters replace are looked up when called, so that
all counters meet them. transformers is looked for only when a model of theirs is made.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

FEATURES: Final = 512
HEADS: Final = 8
TEXT: Final = 128
VOCABULARY: Final = 100

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def by_matmul(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attend by `torch.matmul`."""
    scores = torch.matmul(q, k.transpose(-2, -1)) / q.shape[-1] ** 0.5
    return torch.matmul(torch.softmax(scores, -1), v)


def by_operator(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attend by the operator for products, which some counters do not patch."""
    return torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, -1) @ v


def by_bmm(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attend by `torch.bmm`, heads and batch in one dimension."""
    flat, keys, values = (x.flatten(0, 1) for x in (q, k, v))
    scores = torch.bmm(flat, keys.transpose(1, 2)) / q.shape[-1] ** 0.5
    return torch.bmm(torch.softmax(scores, -1), values).view_as(q)


def by_baddbmm(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attend by `torch.baddbmm`, which adds a bias to scores and scales them."""
    flat, keys, values = (x.flatten(0, 1) for x in (q, k, v))
    bias = q.new_zeros(len(flat), flat.shape[1], keys.shape[1])
    scores = torch.baddbmm(bias, flat, keys.transpose(1, 2), alpha=q.shape[-1] ** -0.5)
    return torch.bmm(torch.softmax(scores, -1), values).view_as(q)


def by_einsum(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attend by `torch.einsum`."""
    scores = torch.einsum("bhid,bhjd->bhij", q, k) / q.shape[-1] ** 0.5
    return torch.einsum("bhij,bhjd->bhid", torch.softmax(scores, -1), v)


def by_sdpa(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attend by PyTorch's fused function."""
    return functional.scaled_dot_product_attention(q, k, v)


def by_causal_sdpa(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attend to all keys up to the query by PyTorch's fused function."""
    return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


class SingleHead(nn.Module):
    """One head whose weights are bare parameters, as in a first lesson on attention."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (
            nn.Parameter(torch.randn(features, features)) for _ in range(3)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Attend within one sequence, without a batch."""
        q, k, v = x @ self.query, x @ self.key, x @ self.value
        return torch.softmax(q @ k.T / x.shape[-1] ** 0.5, -1) @ v


class MultiHead(nn.Module):
    """Multi-head attention between four projections."""

    def __init__(self, attend: Attend) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (
            nn.Linear(FEATURES, FEATURES) for _ in range(4)
        )
        self.attend = attend

    def forward(self, x: Tensor) -> Tensor:
        """Attend within sequences."""
        q, k, v = (
            project(x).unflatten(-1, (HEADS, -1)).transpose(1, 2)
            for project in (self.query, self.key, self.value)
        )
        out: Tensor = self.out(self.attend(q, k, v).transpose(1, 2).flatten(2))
        return out


class Fused(nn.Module):
    """A call of PyTorch's fused function and nothing else."""

    def __init__(self, *, enable_gqa: bool = False) -> None:
        super().__init__()
        self.enable_gqa = enable_gqa

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Attend; query heads may share keys."""
        return functional.scaled_dot_product_attention(q, k, v, enable_gqa=self.enable_gqa)


class Windowed(nn.Module):
    """A causal window by a dense mask, as most models write it."""

    mask: Tensor

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        behind = torch.arange(length)[:, None] - torch.arange(length)
        self.register_buffer("mask", (behind >= 0) & (behind < width))

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Attend under the mask."""
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=self.mask)


class Flexible(nn.Module):
    """A causal window by flex_attention, compiled or not."""

    def __init__(self, length: int, width: int, *, compiled: bool) -> None:
        super().__init__()
        self.blocks = create_block_mask(
            lambda b, h, i, j: (j <= i) & (i - j < width), None, None, length, length, device="cpu"
        )
        self.attend: Callable[..., Any] = flex_attention
        if compiled:
            self.attend = torch.compile(flex_attention)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Attend under the block mask."""
        out: Tensor = self.attend(q, k, v, block_mask=self.blocks)
        return out


class Jagged(nn.Module):
    """Sequences of unequal length without padding, as a nested tensor."""

    offsets: Tensor

    def __init__(self, *lengths: int) -> None:
        super().__init__()
        self.register_buffer("offsets", torch.tensor([0, *lengths]).cumsum(0))

    def forward(self, x: Tensor) -> Tensor:
        """Attend within each sequence of a packed (tokens, features) tensor."""
        packed = torch.nested.nested_tensor_from_jagged(x, self.offsets)
        heads = packed.unflatten(-1, [HEADS, FEATURES // HEADS]).transpose(1, 2)
        out: Tensor = (
            functional.scaled_dot_product_attention(heads, heads, heads).transpose(1, 2).values()
        )
        return out


class MultiheadOfTorch(nn.Module):
    """PyTorch's own multi-head attention within sequences, with or without its weights."""

    def __init__(self, *, need_weights: bool) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(FEATURES, HEADS, batch_first=True)
        self.need_weights = need_weights

    def forward(self, x: Tensor) -> Tensor:
        """Attend within sequences."""
        out: Tensor = self.inner(x, x, x, need_weights=self.need_weights)[0]
        return out


class OfTransformers(nn.Module):
    """A small model of transformers, with random weights."""

    def __init__(self, kind: str, attention: str, **sizes: int) -> None:
        super().__init__()
        theirs: Any = import_module("transformers")
        config = theirs.AutoConfig.for_model(kind, vocab_size=VOCABULARY, **sizes)
        config.use_cache = False
        self.inner = theirs.AutoModel.from_config(config, attn_implementation=attention)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the last hidden states."""
        out: Tensor = self.inner(input_ids=tokens)[0]
        return out


def bert(attention: str) -> nn.Module:
    """Return BERT of 2 layers with its pooler."""
    return OfTransformers(
        "bert",
        attention,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=512,
    )


def gpt2(attention: str) -> nn.Module:
    """Return GPT-2 of 2 layers, without its head for the next token."""
    return OfTransformers(
        "gpt2",
        attention,
        n_embd=128,
        n_layer=2,
        n_head=4,
        n_positions=256,
        bos_token_id=0,
        eos_token_id=0,
    )


def llama(attention: str) -> nn.Module:
    """Return Llama of 2 layers whose 4 heads share 2 of keys, without its head."""
    return OfTransformers(
        "llama",
        attention,
        hidden_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=352,
    )
