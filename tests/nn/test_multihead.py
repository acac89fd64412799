import copy
import math
from itertools import product

import pytest
import torch
from tests.nn.drop_in import (
    EMBED,
    EXACT,
    HEADS,
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
from torch import nn

from attncost import (
    Causal,
    Strided,
    Window,
)
from attncost.nn.multihead import MultiheadAttention

BATCH, N, M = 2, 5, 7
RANDOM = torch.Generator().manual_seed(3)


def blocked(*shape):
    """Block a third of the places, never the last one, so that every row reads something."""
    found = torch.rand(*shape, generator=RANDOM) < 1 / 3
    found[..., -1] = False
    return found


def added(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=RANDOM)


ATTN_MASKS = [
    None,
    blocked(N, M),
    blocked(BATCH * HEADS, N, M),
    added(N, M),
    lowered(blocked(N, M)),
    torch.zeros(N, M, dtype=torch.bool),
]
PADDINGS = [
    None,
    blocked(BATCH, M),
    lowered(blocked(BATCH, M)),
    added(BATCH, M),
    torch.zeros(BATCH, M, dtype=torch.bool),
]
LAYOUTS = {
    "fused": {},
    "separate": {"kdim": 6, "vdim": 10},
    "without bias": {"bias": False},
    "extra keys": {"add_bias_kv": True, "add_zero_attn": True},
    "length first": {"batch_first": False},
}


def masks_of_one_type():
    """Give every mask alone and with others; PyTorch complains of masks of two types."""
    for attn_mask, padding in product(ATTN_MASKS, PADDINGS):
        both = attn_mask is not None and padding is not None
        if not both or (attn_mask.dtype == padding.dtype and padding.any()):
            yield {"attn_mask": attn_mask, "key_padding_mask": padding}


def inputs_of(module):
    query, key = tokens(BATCH, N, EMBED), tokens(BATCH, M, module.kdim, seed=4)
    value = key if module.vdim == module.kdim else tokens(BATCH, M, module.vdim, seed=5)
    if module.batch_first:
        return query, key, value
    return tuple(x.transpose(0, 1) for x in (query, key, value))


@every_mode
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_mask_and_layout_gives_what_pytorch_gives(layout, way):
    theirs, ours = pair(**LAYOUTS[layout])
    inputs = inputs_of(ours)
    with mode(way, theirs, ours):
        for masks in masks_of_one_type():
            for wanted in ({"need_weights": False}, {"average_attn_weights": False}):
                expected = theirs(*inputs, **masks, **wanted)
                torch.testing.assert_close(ours(*inputs, **masks, **wanted), expected, **EXACT)


@every_mode
@pytest.mark.parametrize("need_weights", [True, False])
def test_self_attention_gives_what_the_fast_path_of_pytorch_gives(need_weights, way):
    theirs, ours = pair()
    x, padding = tokens(BATCH, N, EMBED), blocked(BATCH, N)
    padding[:, 0] = False
    with mode(way, theirs, ours):
        for attn_mask, pad in product((None, triangle(N)), (None, padding)):
            masks = {"attn_mask": attn_mask, "key_padding_mask": pad, "need_weights": need_weights}
            torch.testing.assert_close(ours(x, x, x, **masks), theirs(x, x, x, **masks), **EXACT)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_are_those_of_pytorch(layout):
    theirs, ours = pair(**LAYOUTS[layout])
    inputs = [x.clone().requires_grad_() for x in inputs_of(ours)]
    learned = added(N, M).requires_grad_()
    found = []
    for module in (theirs, ours):
        out, weights = module(*inputs, key_padding_mask=PADDINGS[2], attn_mask=learned)
        wanted = [*inputs, learned, *module.parameters()]
        found.append(torch.autograd.grad(out.square().sum() + weights.square().sum(), wanted))
    torch.testing.assert_close(found[1], found[0], **EXACT)


def test_one_sequence_without_a_batch_axis_is_a_batch_of_one():
    theirs, ours = pair(batch_first=False)
    query, key = tokens(N, EMBED), tokens(M, EMBED, seed=4)
    for attn_mask in (None, blocked(N, M), blocked(HEADS, N, M)):
        masks = {"attn_mask": attn_mask, "key_padding_mask": blocked(M)}
        for average in (True, False):
            expected = theirs(query, key, key, **masks, average_attn_weights=average)
            got = ours(query, key, key, **masks, average_attn_weights=average)
            torch.testing.assert_close(got, expected, **EXACT)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_state_dict_loads_both_ways_and_a_copy_is_the_same(layout, tmp_path):
    theirs, ours = pair(**LAYOUTS[layout])
    assert isinstance(ours, nn.MultiheadAttention)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    fresh = nn.MultiheadAttention(EMBED, HEADS, dtype=torch.float64, **LAYOUTS[layout])
    fresh.load_state_dict(ours.state_dict(), strict=True)
    torch.testing.assert_close(fresh.state_dict(), theirs.state_dict(), atol=0, rtol=0)
    torch.save(ours, tmp_path / "ours.pt")
    inputs = inputs_of(ours)
    expected = ours(*inputs)
    for other in (copy.deepcopy(ours), torch.load(tmp_path / "ours.pt", weights_only=False)):
        torch.testing.assert_close(other(*inputs), expected, atol=0, rtol=0)


def test_new_parameters_are_drawn_as_pytorch_draws_them():
    for layout in LAYOUTS.values():
        torch.manual_seed(0)
        theirs = nn.MultiheadAttention(EMBED, HEADS, **layout)
        torch.manual_seed(0)
        ours = MultiheadAttention(EMBED, HEADS, **layout)
        torch.testing.assert_close(ours.state_dict(), theirs.state_dict(), atol=0, rtol=0)
        theirs._reset_parameters()
        torch.manual_seed(0)
        nn.MultiheadAttention(EMBED, HEADS, **layout)
        ours._reset_parameters()
        torch.testing.assert_close(ours.state_dict(), theirs.state_dict(), atol=0, rtol=0)


@every_mode
def test_a_pattern_equals_its_dense_mask_given_to_pytorch(way):
    for pattern in (Window(5), Window(4, ahead=2), Strided(3), Causal()):
        theirs, ours = pair(pattern=pattern)
        x = tokens(BATCH, 40, EMBED)
        dense = ~pattern.mask(40, 40)
        with mode(way, theirs, ours):
            torch.testing.assert_close(ours(x, x, x), theirs(x, x, x, attn_mask=dense), **EXACT)


def test_the_gradients_under_a_window_are_those_of_its_dense_mask():
    theirs, ours = pair(pattern=Window(5))
    x = tokens(BATCH, 40, EMBED)
    for module, mask in ((theirs, ~Window(5).mask(40, 40)), (ours, None)):
        module(x, x, x, attn_mask=mask, need_weights=False)[0].square().sum().backward()
    for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, atol=1e-10, rtol=1e-10)


def test_the_representation_says_what_is_read():
    assert "num_heads=4, pattern=Window(width=5, ahead=0)" in repr(pair(pattern=Window(5))[1])


@every_mode
@pytest.mark.parametrize("need_weights", [True, False])
def test_a_row_that_reads_nothing_is_the_bias_of_the_last_projection(need_weights, way):
    _, ours = pair()
    x = tokens(BATCH, N, EMBED).requires_grad_()
    rows, padding = torch.zeros(N, N, dtype=torch.bool), torch.zeros(BATCH, N, dtype=torch.bool)
    rows[2], padding[1] = True, True
    with mode(way, ours):
        for one, other in ((rows, padding), (lowered(rows), lowered(padding))):
            masks = {"attn_mask": one, "key_padding_mask": other}
            out, weights = ours(x, x, x, **masks, need_weights=need_weights)
            assert torch.equal(out[0, 2], ours.out_proj.bias)
            assert torch.equal(out[1], ours.out_proj.bias.expand(N, EMBED))
            reads = ~rows & ~padding[:, None, None, :]
            exact = joined(ours, definition(*heads_of(ours, x, x, x), reads)[0])
            torch.testing.assert_close(out, exact, **EXACT)
            assert weights is None or not (weights[0, 2].any() or weights[1].any())
            if way in ("train", "eval"):
                gradients = torch.autograd.grad(out.square().sum(), [x, *ours.parameters()])
                assert all(gradient.isfinite().all() for gradient in gradients)
                assert not gradients[0][1].any()


@every_mode
@pytest.mark.parametrize("need_weights", [True, False])
def test_one_head_that_reads_nothing_leaves_the_others_as_they_are(need_weights, way):
    """https://github.com/pytorch/pytorch/issues/160064."""
    _, ours = pair()
    x = tokens(1, N, EMBED).requires_grad_()
    hidden = torch.zeros(HEADS, N, N, dtype=torch.bool)
    hidden[2] = True
    arguments = {"need_weights": need_weights, "average_attn_weights": False}
    with mode(way, ours):
        out, weights = ours(x, x, x, attn_mask=hidden, **arguments)
        exact, _ = definition(*heads_of(ours, x, x, x), ~hidden[None])
        torch.testing.assert_close(out, joined(ours, exact), **EXACT)
        assert weights is None or not weights[:, 2].any()
        if way in ("train", "eval"):
            assert torch.autograd.grad(out.sum(), x)[0].isfinite().all()


@every_mode
def test_what_padding_holds_changes_no_bit_of_what_is_read(way):
    """https://github.com/pytorch/pytorch/issues/101967."""
    _, ours = pair(pattern=Window(3))
    x, padding = tokens(BATCH, N, EMBED), torch.zeros(BATCH, N, dtype=torch.bool)
    padding[0, 3:] = True
    spoilt = x.masked_fill(padding[..., None], math.nan)
    with mode(way, ours):
        for mask in (padding, lowered(padding)):
            clean = ours(x, x, x, key_padding_mask=mask, need_weights=False)[0]
            dirty = ours(spoilt, spoilt, spoilt, key_padding_mask=mask, need_weights=False)[0]
            assert torch.equal(clean[~padding], dirty[~padding])


def test_dropout_is_for_training_alone():
    """https://github.com/pytorch/pytorch/issues/124464."""
    x = tokens(BATCH, N, EMBED)
    _, plain = pair()
    _, ours = pair(dropout=0.5)
    torch.testing.assert_close(ours.eval()(x, x, x), plain(x, x, x), atol=0, rtol=0)
    out, weights = ours.train()(x, x, x)
    assert not torch.allclose(out, plain(x, x, x)[0])
    torch.testing.assert_close(weights, plain(x, x, x)[1], **EXACT)
