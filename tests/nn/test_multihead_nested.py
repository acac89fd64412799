"""Sequences without padding, and what is refused."""

import pytest
import torch
from tests.nn.drop_in import (
    EMBED,
    EXACT,
    pair,
    tokens,
)

from attncost import (
    AttnCostError,
    Block,
    Causal,
    Full,
    GlobalTokens,
    ShapeError,
    UnsupportedOption,
    Window,
)
from attncost.nn.multihead import MultiheadAttention

BATCH, N = 2, 5
NESTED = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
LENGTHS = (3, 8, 1, 5)


def nested(lengths, layout=torch.jagged, seed=2):
    sequences = [tokens(n, EMBED, seed=seed + i) for i, n in enumerate(lengths)]
    return torch.nested.nested_tensor(sequences, layout=layout, requires_grad=True)


@NESTED
@pytest.mark.parametrize("layout", [torch.jagged, torch.strided])
@pytest.mark.parametrize(
    "pattern", [Full(), Causal(), Window(3), Block(4), GlobalTokens(2)], ids=str
)
def test_sequences_of_a_nested_tensor_read_themselves_alone(pattern, layout):
    """https://github.com/pytorch/pytorch/issues/153472, /130196 and pull request 156660."""
    cases = (LENGTHS, False), (LENGTHS, True), ((6,), False), ((5, 5), False), ((5, 0, 3), False)
    for lengths, extra in cases:
        if extra and pattern != Full():
            continue
        _, ours = pair(pattern=pattern, add_bias_kv=extra)
        x = nested(lengths, layout)
        for is_causal in (False, True):
            out, weights = ours(x, x, x, need_weights=False, is_causal=is_causal)
            assert weights is None
            assert (out + x).size(0) == len(lengths)
            alone = [
                ours(one, one, one, is_causal=is_causal, need_weights=False)[0]
                for one in x.unbind()
            ]
            torch.testing.assert_close(list(out.unbind()), alone, **EXACT)
            got, expected = (
                torch.autograd.grad(sum(one.square().sum() for one in some), x)[0].unbind()
                for some in (out.unbind(), alone)
            )
            torch.testing.assert_close(list(got), list(expected), **EXACT)


@pytest.mark.parametrize("pattern", [Full(), Causal()], ids=str)
def test_nested_queries_read_nested_keys_of_other_lengths(pattern):
    _, ours = pair(pattern=pattern)
    query, key = nested(LENGTHS), nested((4, 2, 6, 5), seed=9)
    out, _ = ours(query, key, key, need_weights=False)
    for one, q, k in zip(out.unbind(), query.unbind(), key.unbind(), strict=True):
        torch.testing.assert_close(one, ours(q, k, k, need_weights=False)[0], **EXACT)


def test_dropout_also_falls_on_nested_tensors():
    _, ours = pair(dropout=0.5)
    x = nested(LENGTHS)
    first, second = (ours(x, x, x, need_weights=False)[0].values() for _ in range(2))
    assert not torch.allclose(first, second)
    assert first.isfinite().all()


def refused(what):
    """Return a call that is refused."""
    _, ours = pair(batch_first=what != "nested, length first")
    x, jagged = tokens(BATCH, N, EMBED), nested((2, 3))
    calls = {
        "other axes": lambda: ours(x, x[0], x[0]),
        "four axes": lambda: ours(x[None], x[None], x[None]),
        "features": lambda: ours(x, x[..., :8], x[..., :8]),
        "lengths": lambda: ours(x, x, x[:, :3]),
        "attn_mask": lambda: ours(x, x, x, attn_mask=torch.zeros(4, 4)),
        "padding": lambda: ours(x, x, x, key_padding_mask=torch.zeros(N, BATCH)),
        "whole numbers": lambda: ours(x, x, x, attn_mask=torch.zeros(N, N, dtype=torch.uint8)),
        "nested with weights": lambda: ours(jagged, jagged, jagged),
        "nested with mask": lambda: ours(
            jagged, jagged, jagged, attn_mask=torch.zeros(3, 3), need_weights=False
        ),
        "nested and not": lambda: ours(jagged, x, x, need_weights=False),
        "nested, length first": lambda: ours(jagged, jagged, jagged, need_weights=False),
        "nested lengths": lambda: ours(jagged, jagged, nested((3, 3)), need_weights=False),
        "heads": lambda: MultiheadAttention(10, 3),
        "no features": lambda: MultiheadAttention(0, 3),
        "extra keys": lambda: MultiheadAttention(8, 2, add_zero_attn=True, pattern=Window(3)),
    }
    return calls[what]


@pytest.mark.parametrize(
    ("what", "error", "words"),
    [
        ("other axes", ShapeError, "3 axes, or 2 without a batch, got 3, 2 and 2"),
        ("four axes", ShapeError, "got 4, 4 and 4"),
        ("features", ShapeError, "key must have 16 features, got 8"),
        (
            "lengths",
            ShapeError,
            r"one length, got \(2, 5, 16\), .* read as \(batch, length, features\)",
        ),
        ("attn_mask", ShapeError, r"attn_mask must have shape \(5, 5\) or \(8, 5, 5\), got"),
        ("padding", ShapeError, r"key_padding_mask must have shape \(2, 5\), got \(5, 2\)"),
        ("whole numbers", ShapeError, "boolean .* or floating-point .*, got torch.uint8"),
        ("nested with weights", UnsupportedOption, "need_weights=False and no masks"),
        # https://github.com/pytorch/pytorch/issues/138993
        ("nested with mask", UnsupportedOption, "need_weights=False and no masks"),
        ("nested and not", UnsupportedOption, "all be nested or none of them, key is not"),
        ("nested, length first", UnsupportedOption, "batch_first=True"),
        ("nested lengths", ShapeError, r"got lengths \[2, 3\], \[2, 3\] and \[3, 3\]"),
        ("heads", ShapeError, "multiple of num_heads .* embed_dim=10 and num_heads=3"),
        ("no features", ShapeError, "greater than 0"),
        ("extra keys", UnsupportedOption, "have no position .*, got Window"),
    ],
)
def test_what_cannot_be_honoured_is_refused_in_one_line(what, error, words):
    with pytest.raises(error, match=words) as raised:
        refused(what)()
    assert isinstance(raised.value, AttnCostError)
    assert "\n" not in str(raised.value)
