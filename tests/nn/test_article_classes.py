"""The classes of the two articles in three lines each, against what their code computes.

Only where that code is right: the layer that is empty computes what its text defines, and the
sparse one the softmax that it leaves out.
"""

import math

import pytest
import torch
from tests.oracle import definition
from torch import nn

from attncost import Block, Full, Window
from attncost.nn.attention import Attention

D, H, N = 32, 4, 40


class OneHead(nn.Module):
    """`SelfAttention(embed_size)`, as it stands."""

    def __init__(self, embed_size):
        super().__init__()
        self.embed_size = embed_size
        self.qkv = nn.Linear(embed_size, embed_size * 3)

    def forward(self, x, mask=None):
        batch, seq_len, _ = x.shape
        q, k, v = (t.view(batch, seq_len, -1) for t in self.qkv(x).chunk(3, dim=-1))
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.embed_size)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return torch.matmul(scores.softmax(-1), v)


class ManyHeads(nn.Module):
    """`SelfAttention(d_model, n_head)`, as it stands; `mask` is ours, for the window."""

    def __init__(self, d_model, n_head):
        super().__init__()
        self.d_model, self.n_head, self.d_head = d_model, n_head, d_model // n_head
        self.Wq, self.Wk, self.Wv, self.Wo = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x, mask=None):
        b, n, _ = x.shape
        q, k, v = (
            w(x).view(b, n, self.n_head, self.d_head).transpose(1, 2)
            for w in (self.Wq, self.Wk, self.Wv)
        )
        scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(self.d_head)
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        output = torch.matmul(scores.softmax(-1), v)
        return self.Wo(output.transpose(1, 2).contiguous().view(b, n, self.d_model))


def self_attention(embed_size):
    layer = Attention(embed_size, heads=1)
    layer.out = nn.Identity()  # the article projects nothing afterwards
    return layer


def multi_head_attention(d_model, n_head):
    return Attention(d_model, n_head)


def local_attention(d_model, n_head, window_size):
    return Attention(d_model, n_head, Window(window_size))


def chunked_attention(d_model, n_head, window_size):
    return Attention(d_model, n_head, Block(window_size))


@pytest.fixture
def x(generator):
    return torch.randn(2, N, D, dtype=torch.float64, generator=generator).requires_grad_()


def same(ours, theirs, x):
    torch.testing.assert_close(ours, theirs)
    gradients = [torch.autograd.grad(out.square().sum(), x) for out in (ours, theirs)]
    torch.testing.assert_close(*gradients)


def with_weights_of(theirs, ours):
    """Copy the four matrices of `theirs` into the two of `ours`."""
    fused = [theirs.Wq, theirs.Wk, theirs.Wv]
    weights = {f"out.{name}": x for name, x in theirs.Wo.state_dict().items()}
    for name in ("weight", "bias"):
        weights[f"qkv.{name}"] = torch.cat([getattr(one, name) for one in fused])
    ours.load_state_dict(weights)
    return ours


def test_one_head_with_padding(x):
    theirs, ours = OneHead(D).double(), self_attention(D).double()
    ours.load_state_dict(theirs.state_dict())
    same(ours(x), theirs(x), x)
    key_mask = torch.arange(N) < torch.tensor([[N], [25]])
    same(ours(x, key_mask=key_mask), theirs(x, key_mask[:, None]), x)


def test_many_heads(x):
    theirs = ManyHeads(D, H).double()
    same(with_weights_of(theirs, multi_head_attention(D, H).double())(x), theirs(x), x)


@pytest.mark.parametrize("width", [1, 8, 64])
def test_local_attention_reads_the_window_about_each_position(width, x):
    theirs = ManyHeads(D, H).double()
    ours = with_weights_of(theirs, local_attention(D, H, width).double())
    behind = torch.arange(N)[:, None] - torch.arange(N)
    same(ours(x), theirs(x, (behind >= 0) & (behind < width)), x)


@pytest.mark.parametrize("width", [8, 15])
def test_local_attention_in_chunks_as_its_comments_say(width, x):
    theirs = ManyHeads(D, H).double()
    ours = with_weights_of(theirs, chunked_attention(D, H, width).double())
    same(ours(x), torch.cat([theirs(part) for part in x.split(width, 1)], 1), x)


def test_block_sparse_attention_with_the_softmax_that_is_missing(x):
    layer = Attention(D, 1, Block(8)).double()
    q, k, v = (part[:, None] for part in layer.qkv(x).chunk(3, -1))
    blocks = zip(*(part.split(8, 2) for part in (q, k, v)), strict=True)
    everything = Full().mask(8, 8)
    mixed = torch.cat([definition(*block, everything)[0] for block in blocks], 2)
    same(layer(x), layer.out(mixed[:, 0]), x)
