"""Causal in every mode, by flag or by mask, and never more expensive than it must be."""

import pytest
import torch
from tests.nn.drop_in import (
    EMBED,
    EXACT,
    every_mode,
    heads_of,
    joined,
    lowered,
    mode,
    pair,
    tokens,
    triangle,
)
from tests.oracle import definition

from attncost import (
    Block,
    Causal,
    Full,
    Window,
)
from attncost.nn.torch_masks import TorchMasks

BATCH, N, M = 2, 5, 7


@every_mode
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("padded", [True, False])
def test_causal_is_honoured_in_every_mode_with_and_without_masks(padded, need_weights, way):
    """https://github.com/pytorch/pytorch/issues/99282 and /100709."""
    _, ours = pair()
    x, padding = tokens(BATCH, N, EMBED), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    reads = Causal().mask(N, N)
    key_mask = ~padding if padded else None
    exact = joined(ours, definition(*heads_of(ours, x, x, x), reads, key_mask=key_mask)[0])
    with mode(way, ours):
        for attn_mask in (None, triangle(N), lowered(triangle(N)), torch.zeros(N, N).bool()):
            out, _ = ours(
                x,
                x,
                x,
                key_padding_mask=padding if padded else None,
                attn_mask=attn_mask,
                need_weights=need_weights,
                is_causal=True,
            )
            torch.testing.assert_close(out, exact, **EXACT)


@pytest.mark.parametrize("n", [1, 3, 7, 9])
def test_the_last_query_stands_at_the_last_key(n):
    """https://github.com/pytorch/pytorch/issues/103082."""
    _, ours = pair()
    query, key = tokens(BATCH, n, EMBED), tokens(BATCH, M, EMBED, seed=4)
    exact, _ = definition(*heads_of(ours, query, key, key), Causal().mask(n, M))
    out, weights = ours(query, key, key, is_causal=True)
    torch.testing.assert_close(out, joined(ours, exact), **EXACT)
    assert not weights[:, triangle(n, M)].any()
    assert n > 1 or torch.equal(out, ours(query, key, key)[0])


def test_causal_narrows_a_pattern_that_looks_ahead():
    x = tokens(BATCH, 40, EMBED)
    for pattern in (Window(9, ahead=4), Block(8), Window(3), Full()):
        _, ours = pair(pattern=pattern)
        reads = pattern.mask(40, 40) & Causal().mask(40, 40)
        exact = joined(ours, definition(*heads_of(ours, x, x, x), reads)[0])
        torch.testing.assert_close(ours(x, x, x, is_causal=True)[0], exact, **EXACT)


def test_causal_with_extra_keys_is_that_of_pytorch():
    theirs, ours = pair(add_bias_kv=True, add_zero_attn=True)
    x, padding = tokens(BATCH, N, EMBED), torch.zeros(BATCH, N, dtype=torch.bool)
    padding[0, 3:] = True
    for pad in (None, padding):
        expected = theirs(x, x, x, attn_mask=triangle(N), key_padding_mask=pad)
        got = ours(x, x, x, is_causal=True, key_padding_mask=pad)
        torch.testing.assert_close(got, expected, **EXACT)


def test_masks_that_say_nothing_or_causal_become_the_pattern():
    q, k = torch.zeros(2, 4, 500, 8), torch.zeros(2, 4, 600, 8)
    nothing, after = torch.zeros(500, 600), triangle(500, 600)
    for mask, pattern in (
        (nothing, Full()),
        (nothing.bool(), Full()),
        (after, Causal()),
        (lowered(after), Causal()),
        (after.expand(8, 500, 600), Causal()),
    ):
        padding = torch.zeros(2, 600, dtype=mask.dtype)
        assert TorchMasks(mask, padding, False).reading(Full(), q, k) == (pattern, None, None)
    for nearly in (lowered(after), nothing.clone()):
        nearly[-1, 3] = 0.1
        assert TorchMasks(nearly, None, False).reading(Full(), q, k).bias is not None
    learned = lowered(after).requires_grad_()
    assert TorchMasks(learned, None, False).reading(Full(), q, k).bias is not None
