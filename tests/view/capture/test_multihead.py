"""`torch.nn.MultiheadAttention`: what is seen equals the weights that it returns when asked."""

import pytest
import torch
from tests.view.capture.seen_calls import Named, drawn, shaken, watched
from torch import nn

from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.patterns.window import Window

E, H, N = 16, 4, 7
LATER = torch.ones(N, N, dtype=torch.bool).triu(1)
PADDED = torch.tensor([[False] * N, [False] * 4 + [True] * 3])
MASKS = {
    "none": {},
    "causal": {"attn_mask": LATER},
    "added": {"attn_mask": drawn(N, N)},
    "per head": {"attn_mask": drawn(2 * H, N, N)},
    "blocked per head": {"attn_mask": (drawn(2 * H, N, N) > 0.5) & ~torch.eye(N).bool()},
    "padding": {"key_padding_mask": PADDED},
    "both": {"attn_mask": LATER, "key_padding_mask": PADDED},
    "padding that adds": {"key_padding_mask": drawn(2, N)},
}
MODULES = {
    "plain": {},
    "batch second": {"batch_first": False},
    "without biases": {"bias": False},
    "other features": {"kdim": 8, "vdim": 12},
    "a learned key": {"add_bias_kv": True},
    "a key of zeros": {"add_zero_attn": True},
    "both keys, other features": {
        "add_bias_kv": True,
        "add_zero_attn": True,
        "kdim": 8,
        "vdim": 12,
        "batch_first": False,
    },
}


def module(**arguments):
    return shaken(nn.MultiheadAttention(E, H, **{"batch_first": True, **arguments})).eval()


def inputs(of, batch=2):
    sizes = (E, of.kdim, of.vdim)
    found = [drawn(batch, N, size, seed=i) for i, size in enumerate(sizes)]
    return found if of.batch_first else [x.transpose(0, 1) for x in found]


def told(of, *given, **masks):
    """Return what the module itself says that it weighs."""

    return of(*given, need_weights=True, average_attn_weights=False, **masks)[1]


@pytest.mark.parametrize("asked", [True, False], ids=["weights", "no weights"])
@pytest.mark.parametrize("masks", MASKS)
@pytest.mark.parametrize("kind", MODULES)
def test_what_is_seen_weighs_as_the_module_says(kind, masks, asked):
    of = module(**MODULES[kind])
    given = inputs(of)
    expected = told(of, *given, **MASKS[masks])
    plain = of(*given, need_weights=asked, **MASKS[masks])
    with watched(of) as calls:
        out = of(*given, need_weights=asked, **MASKS[masks])
    (seen,) = calls
    assert (seen.name, seen.heads) == ("", tuple(range(H)))
    torch.testing.assert_close(seen.weights(), expected, atol=1e-6, rtol=1e-5)
    assert torch.equal(out[0], plain[0])


@pytest.mark.parametrize("masks", ["none", "causal", "padding", "both"])
def test_the_fast_path_is_seen_and_stays_what_it_is(masks):
    of, x = module(), drawn(2, N, E)
    with torch.no_grad():
        expected = told(of, x, x, x.clone(), **MASKS[masks])  # no fast path
        plain = of(x, x, x, **MASKS[masks])
        with watched(of) as calls, Named() as names:
            out = of(x, x, x, **MASKS[masks])
    (seen,) = calls
    torch.testing.assert_close(seen.weights(), expected, atol=1e-6, rtol=1e-5)
    assert torch.equal(out[0], plain[0])
    assert torch.equal(out[1], plain[1])
    assert "aten::_native_multi_head_attention" in names.found


def test_a_causal_mask_is_the_pattern_and_padding_the_key_mask():
    of, x = module(), drawn(2, N, E)
    with watched(of) as calls:
        of(x, x, x, attn_mask=LATER, key_padding_mask=PADDED)
    assert calls[0].pattern == Causal()
    assert torch.equal(calls[0].wishes["key_mask"], ~PADDED)
    assert set(calls[0].wishes) == {"key_mask"}


def test_the_hint_of_causality_is_taken_where_pytorch_takes_it():
    of, x = module(), drawn(2, N, E)
    expected, nothing = told(of, x, x, x, attn_mask=LATER), torch.zeros(N, N)
    asked = {"attn_mask": nothing, "is_causal": True}
    with watched(of) as calls:
        taken, _ = of(x, x, x, need_weights=False, **asked)
        heeded, weights = of(x, x, x, average_attn_weights=False, **asked)
    assert [seen.pattern for seen in calls] == [Causal(), Full()]
    torch.testing.assert_close(calls[0].weights(), expected)
    torch.testing.assert_close(calls[1].weights(), weights)
    assert not torch.allclose(taken, heeded)


def test_keys_that_either_mask_hides_are_hidden():
    of, x = module(), drawn(2, N, E)
    hidden = torch.zeros(N, N, dtype=torch.bool).index_fill(1, torch.tensor([1]), True)
    masks = {"attn_mask": hidden | LATER, "key_padding_mask": PADDED}
    expected = told(of, x, x, x, **masks)
    with watched(of) as calls:
        of(x, x, x, **masks)
    assert (calls[0].pattern, set(calls[0].wishes)) == (Causal(), {"key_mask"})
    torch.testing.assert_close(calls[0].weights(), expected)


@pytest.mark.parametrize("batch_first", [True, False], ids=["batch first", "batch second"])
def test_an_input_without_a_batch_is_a_batch_of_one(batch_first):
    of, x = module(batch_first=batch_first), drawn(N, E)
    expected = told(of, x, x, x, key_padding_mask=PADDED[1])
    with watched(of) as calls:
        of(x, x, x, key_padding_mask=PADDED[1])
    torch.testing.assert_close(calls[0].weights(), expected[None])


def test_keys_of_another_sequence_are_told_from_ones_own():
    of, x, y = module(), drawn(2, N, E), drawn(2, 4, E, seed=5)
    with watched(of) as calls:
        of(x, y, y)
        of(x, x, x)
        of(x, x.clone(), y.new_ones(x.shape))
        of(x, x.flip(1), x)
    assert [seen.cross for seen in calls] == [True, False, False, True]
    torch.testing.assert_close(calls[0].weights(), told(of, x, y, y))


def test_a_query_whose_keys_are_all_blocked_weighs_nothing():
    of, x = module(), drawn(1, N, E)
    mask = torch.zeros(N, N, dtype=torch.bool).index_fill(0, torch.tensor([2]), True)
    with watched(of) as calls:
        of(x, x, x, attn_mask=mask, need_weights=False)
    weights = calls[0].weights()
    assert not weights[:, :, 2].any()
    torch.testing.assert_close(weights.sum(3)[:, :, 3:], torch.ones(1, H, N - 3))


def test_values_are_those_that_are_weighed():
    of, x = module(add_bias_kv=True), drawn(2, N, E)
    with watched(of) as calls:
        out, _ = of(x, x, x)
    mixed = calls[0].weights() @ calls[0].v
    torch.testing.assert_close(of.out_proj(mixed.transpose(1, 2).flatten(2)), out)


def test_under_autocast_it_is_seen_as_narrow_as_it_is_computed():
    of, x = module(), drawn(2, N, E)
    with watched(of) as calls, torch.autocast("cpu", torch.bfloat16):
        of(x, x, x)
    assert calls[0].q.dtype == calls[0].k.dtype == torch.bfloat16


@pytest.mark.parametrize("added", [False, True], ids=["blocked", "added"])
def test_a_window_is_a_pattern_however_its_mask_is_written(added):
    of, x = module(), drawn(2, N, E)
    masks = ~Window(3).mask(N, N), PADDED.flip(1)
    if added:
        masks = [torch.zeros(mask.shape).masked_fill(mask, -torch.inf) for mask in masks]
    with watched(of) as calls:
        of(x, x, x, attn_mask=masks[0], key_padding_mask=masks[1])
    assert calls[0].pattern == Window(3)
    assert set(calls[0].wishes) == {"key_mask"}
    assert torch.equal(calls[0].wishes["key_mask"], ~PADDED.flip(1))


@pytest.mark.parametrize("added", [False, True], ids=["blocked", "added"])
def test_layers_that_share_a_mask_share_what_is_made_of_it(added):
    model = nn.ModuleList([module(), module()])
    mask = MASKS["added"]["attn_mask"] if added else drawn(N, N) > 0
    x = drawn(2, N, E)
    with watched(model) as calls:
        for of in model:
            of(x, x, x, attn_mask=mask)
    assert calls[0].wishes["bias"] is calls[1].wishes["bias"]
    assert added == (calls[0].wishes["bias"].data_ptr() == mask.data_ptr())
