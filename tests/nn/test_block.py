"""The pre-norm block against PyTorch's own, against its price, and token by token."""

from itertools import pairwise

import pytest
import torch
from tests.kernels.counted import flops
from torch import nn
from torch.utils.checkpoint import checkpoint

from attncost import (
    BlockSizes,
    Causal,
    Full,
    Linformer,
    ShapeError,
    Strided,
    Window,
    block_cost,
    explain,
    kernels,
)
from attncost.nn.attention import Attention
from attncost.nn.block import TransformerBlock
from attncost.nn.cache_for import cache_for
from attncost.nn.rope import Rope

D, H, N = 32, 4, 40


def tokens(generator, batch=2, n=N):
    return torch.randn(batch, n, D, dtype=torch.float64, generator=generator).requires_grad_()


def stack(depth, *args, **options):
    torch.manual_seed(0)
    blocks = (TransformerBlock(Attention(D, H, *args, **options)) for _ in range(depth))
    return nn.ModuleList(blocks).double()


def paired(pattern):
    """Return PyTorch's layer, and ours with its weights."""
    torch.manual_seed(0)
    theirs = nn.TransformerEncoderLayer(
        D, H, 48, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    ).double()
    ours = TransformerBlock(Attention(D, H, pattern), hidden=48).double()
    for parameter in theirs.parameters():
        nn.init.normal_(parameter, std=0.3)
    names = {
        "self_attn.in_proj_": "attention.qkv.",
        "self_attn.out_proj.": "attention.out.",
        "linear1.": "up.",
        "linear2.": "down.",
        "norm1.": "attention_norm.",
        "norm2.": "feed_forward_norm.",
    }
    weights = {
        ours_ + key.removeprefix(theirs_): value
        for key, value in theirs.state_dict().items()
        for theirs_, ours_ in names.items()
        if key.startswith(theirs_)
    }
    ours.load_state_dict(weights)
    return theirs, ours


@pytest.mark.parametrize("pattern", [Full(), Causal(), Window(9, ahead=4)], ids=str)
def test_equals_the_encoder_layer_of_pytorch(pattern, generator):
    theirs, ours = paired(pattern)
    x = tokens(generator)
    key_mask = torch.arange(N) < torch.tensor([[30], [N]])
    hidden = {"src_mask": ~pattern.mask(N, N), "src_key_padding_mask": ~key_mask}
    expected, out = theirs(x, **hidden)[key_mask], ours(x, key_mask=key_mask)[key_mask]
    torch.testing.assert_close(out, expected)
    (one,) = torch.autograd.grad(out.square().sum(), x)
    (other,) = torch.autograd.grad(expected.square().sum(), x)
    torch.testing.assert_close(one, other)


@pytest.mark.parametrize("mixing", [Full(), Causal(), Window(9), Strided(5), Linformer(6)], ids=str)
@pytest.mark.parametrize("kv_heads", [4, 1])
def test_costs_what_the_formula_says(mixing, kv_heads, generator):
    length = N if isinstance(mixing, Linformer) else None
    layer = Attention(D, H, mixing, kv_heads=kv_heads, head_dim=6, length=length)
    block = TransformerBlock(layer, hidden=50).double()
    sizes = BlockSizes(d_model=D, heads=H, kv_heads=kv_heads, head_dim=6, hidden=50)
    kernel = None
    if length is None:
        qkv = (
            torch.zeros(2, heads, N, 6, dtype=torch.float64) for heads in (H, kv_heads, kv_heads)
        )
        kernel = kernels.kernel(explain(*qkv, mixing).kernel)
    cost = 2 * block_cost(mixing, sizes, length=N, kernel=kernel)
    with torch.no_grad():
        assert flops(lambda: block(tokens(generator))) == cost.executed


def test_information_travels_a_window_for_each_block(generator):
    blocks, x = stack(3, Window(5)), tokens(generator, 1).detach()
    changed = x.clone()
    changed[0, 12] += 1
    for block in blocks:
        x, changed = block(x), block(changed)
    moved = (x != changed).any(-1)[0].nonzero().flatten()
    assert moved.tolist() == list(range(12, 12 + 3 * 4 + 1))


@pytest.mark.parametrize("pattern", [Causal(), Window(6), Strided(5) & Causal()], ids=str)
def test_decoding_token_by_token_equals_one_call(pattern, generator):
    blocks, x = stack(3, pattern, kv_heads=2, qk_norm=True, rope=Rope()), tokens(generator).detach()
    key_mask = torch.arange(N) >= torch.tensor([[7], [0]])
    with torch.no_grad():
        expected = x
        for block in blocks:
            expected = block(expected, key_mask=key_mask)
        caches, steps = [cache_for(pattern) for _ in blocks], []
        for start, stop in pairwise([0, *range(20, N + 1)]):
            new, mask = x[:, start:stop], key_mask[:, start:stop]
            for block, cache in zip(blocks, caches, strict=True):
                new = block(new, key_mask=mask, cache=cache)
            steps.append(new)
    torch.testing.assert_close(torch.cat(steps, 1)[key_mask], expected[key_mask])


def test_documents_packed_in_one_row_never_meet(generator):
    (block,), x = stack(1, Window(9), rope=Rope()), tokens(generator, 1)
    segments = torch.tensor([[0] * 13 + [1] * 20 + [2] * 7])
    apart = [block(part) for part in x.split((13, 20, 7), 1)]
    torch.testing.assert_close(block(x, segments=segments), torch.cat(apart, 1))


def test_what_sublayers_add_is_dropped_in_training_alone(generator):
    torch.manual_seed(0)
    block, x = TransformerBlock(Attention(D, H), dropout=1.0).double(), tokens(generator)
    assert torch.equal(block(x), x)
    assert not torch.equal(block.eval()(x), x)


def test_checkpointing_changes_no_gradient(generator):
    torch.manual_seed(0)
    layer = Attention(D, H, Window(9), dropout=0.2, rope=Rope())
    block, x = TransformerBlock(layer, dropout=0.3).double(), tokens(generator)
    found = []
    for run in (block, lambda x: checkpoint(block, x, use_reentrant=False)):
        torch.manual_seed(1)
        found.append(torch.autograd.grad(run(x).square().sum(), [x, *block.parameters()]))
    torch.testing.assert_close(*found, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"hidden": 0}, "hidden must be at least 1, got 0"),
        ({"dropout": -0.1}, r"dropout must lie in \[0, 1\], got -0.1"),
    ],
)
def test_impossible_sizes_are_refused(options, reason):
    with pytest.raises(ShapeError, match=reason):
        TransformerBlock(Attention(D, H), **options)
