"""Attention functions seen in any module that calls them."""

import pytest
import torch
from tests.view.capture.seen_calls import (
    KEYS,
    B,
    D,
    H,
    M,
    N,
    Projects,
    drawn,
    gpt,
    qkv,
    shaken,
    softmax_of,
    watched,
)
from torch import nn
from torch.nn import functional
from torch.nn.attention.bias import causal_lower_right, causal_upper_left

import attncost as ac
from attncost.core.errors import UnsupportedOption
from attncost.view.capture.hosts.functions import Functions

SQUARE = torch.ones(N, N, dtype=torch.bool).tril()
LOWEST = torch.finfo(torch.float32).min


class Calls(nn.Module):
    """Calls attention as it is told to."""

    def forward(self, *qkv, **asked):
        return functional.scaled_dot_product_attention(*qkv, **asked)


def weights_by_values(*qkv, **asked):
    """Return the weights of PyTorch's function itself: what it makes of values that are a basis."""
    *lead, m, _ = qkv[1].shape
    basis = torch.eye(m, dtype=qkv[0].dtype).expand(*lead, m, m)
    return functional.scaled_dot_product_attention(*qkv[:2], basis, **asked)


ASKED = {
    "nothing": {},
    "a scale": {"scale": 0.1},
    "causality, the first query at the first key": {"is_causal": True},
    "causality, the last query at the last key": {"attn_mask": causal_lower_right(N, M)},
    "the other causality": {"attn_mask": causal_upper_left(N, M)},
    "pairs": {"attn_mask": drawn(N, M) > -1},
    "pairs of each head": {"attn_mask": drawn(B, H, N, M) > -1},
    "pairs of each sequence": {"attn_mask": drawn(B, 1, N, M) > -1},
    "keys": {"attn_mask": KEYS[:, None, None]},
    "keys of one for all": {"attn_mask": KEYS[:1]},
    "keys of each head": {"attn_mask": drawn(1, H, 1, M) > -1},
    "queries": {"attn_mask": drawn(B, 1, N, 1)},
    "a bias": {"attn_mask": drawn(B, H, N, M)},
    "a bias of heads": {"attn_mask": drawn(1, H, N, M)},
    "the lowest number": {"attn_mask": torch.where(KEYS[:, None, None], 0.0, LOWEST)},
    "keys and causality": {
        "attn_mask": KEYS[:, None, None] & torch.ones(N, M, dtype=torch.bool).tril(M - N)
    },
}


@pytest.mark.parametrize("asked", ASKED)
def test_what_is_seen_weighs_as_the_function_does(asked):
    given = qkv()
    plain = Calls()(*given, **ASKED[asked])
    with watched(model := Calls(), "") as calls:
        out = model(*given, **ASKED[asked])
    (seen,) = calls
    expected = weights_by_values(*given, **ASKED[asked])
    torch.testing.assert_close(seen.weights(), expected, atol=1e-6, rtol=1e-4)
    torch.testing.assert_close(softmax_of(seen).float(), expected, atol=1e-6, rtol=1e-4)
    assert torch.equal(out, plain)
    assert seen.q.data_ptr() == given[0].data_ptr()


@pytest.mark.parametrize(
    ("lead", "kv", "asked"),
    [
        ((), (), {}),
        ((3,), (3,), {"attn_mask": drawn(3, N, M)}),
        ((3,), (3,), {"is_causal": True}),
        ((2, 3, 4), (2, 3, 4), {"attn_mask": drawn(N, M) > -1}),
        ((2, 3, 4), (2, 3, 4), {"attn_mask": drawn(3, 1, N, M) > -1}),
        ((B, H), (1, H), {}),
        ((B, H), (B, 1), {"attn_mask": drawn(N, M)}),
        ((B, H), (H,), {}),
    ],
    ids=["no heads", "three axes", "three, causal", "five", "five, masked", "keys", "one", "few"],
)
def test_axes_before_the_last_three_are_one_batch(lead, kv, asked):
    given = qkv(lead, kv=kv)
    with watched(model := Calls(), "") as calls:
        model(*given, **asked)
    wide = (given[0], *(x.expand(*lead, M, D) for x in given[1:]))
    expected = weights_by_values(*wide, **asked)
    found = calls[0].weights()
    torch.testing.assert_close(found.reshape(expected.shape), expected, atol=1e-6, rtol=1e-4)
    assert calls[0].v.shape[:3] == calls[0].k.shape[:3]


def test_heads_that_share_keys_stay_shared():
    given = qkv(kv=(B, 2))
    with watched(model := Calls(), "") as calls:
        out = model(*given, enable_gqa=True)
    assert calls[0].k.shape == (B, 2, M, D)
    mixed = calls[0].weights() @ given[2].repeat_interleave(2, 1)
    torch.testing.assert_close(mixed, out)


def test_masks_in_few_words_need_no_pairs():
    with watched(model := Calls(), "") as calls:
        model(*qkv(m=N), attn_mask=SQUARE)
        model(*qkv(m=N), attn_mask=(1 - SQUARE.float()) * LOWEST)
        model(*qkv(), attn_mask=ASKED["keys and causality"]["attn_mask"])
        model(*qkv(), attn_mask=causal_lower_right(N, M))
        model(*qkv(m=N), is_causal=True)
    assert [seen.pattern for seen in calls] == [ac.Causal()] * 5
    assert [set(seen.wishes) for seen in calls] == [set(), set(), {"key_mask"}, set(), set()]
    assert torch.equal(calls[2].wishes["key_mask"], KEYS)


@pytest.mark.parametrize("inference", [False, True], ids=["no grad", "inference mode"])
def test_layers_that_share_a_mask_share_what_is_made_of_it(inference):
    mask = drawn(B, H, N, M) > 0
    with torch.no_grad(), torch.inference_mode(inference), watched(model := Calls(), "") as calls:
        mask = mask.clone()
        for _ in range(2):
            model(*qkv(), attn_mask=mask)
    assert calls[0].wishes["bias"] is calls[1].wishes["bias"]


def test_a_mask_that_is_changed_in_place_is_read_anew():
    mask = drawn(B, H, N, M) > 0
    with watched(model := Calls(), "") as calls:
        model(*qkv(), attn_mask=mask)
        mask[:, :, 0] = ~mask[:, :, 0]
        model(*qkv(), attn_mask=mask)
    expected = weights_by_values(*qkv(), attn_mask=mask)
    torch.testing.assert_close(calls[1].weights(), expected)
    assert not torch.equal(calls[0].weights(), calls[1].weights())


def test_the_multi_head_function_is_seen_where_it_is_called():
    model, x = shaken(Projects()), drawn(N, B, 16)
    _, expected = model(x, average_attn_weights=False)
    with watched(model, "") as calls:
        model(x, need_weights=False)
    assert [(seen.name, seen.cross) for seen in calls] == [("", True)]
    torch.testing.assert_close(calls[0].weights(), expected)


def test_static_keys_take_the_place_of_projected_ones():
    model, x = shaken(Projects()), drawn(N, B, 16)
    static = {"static_k": drawn(B * H, M, 4, seed=3), "static_v": drawn(B * H, M, 4, seed=4)}
    _, expected = model(x, average_attn_weights=False, **static)
    with watched(model, "") as calls:
        model(x, need_weights=False, **static)
    torch.testing.assert_close(calls[0].weights(), expected)


def test_our_modules_say_what_they_read_themselves():
    model = shaken(ac.nn.Attention(16, H, ac.Window(3), kv_heads=2, rope=ac.nn.Rope()))
    x, y = drawn(B, M, 16), drawn(B, N, 16)
    plain = model(x, key_mask=KEYS)
    with watched(model) as calls:
        out = model(x, key_mask=KEYS)
    assert torch.equal(out, plain)
    assert (calls[0].pattern, calls[0].cross) == (ac.Window(3), False)
    assert torch.equal(calls[0].wishes["key_mask"], KEYS)
    assert calls[0].k.shape == (B, 2, M, 4)
    mixed = calls[0].weights() @ calls[0].v.repeat_interleave(2, 1)
    torch.testing.assert_close(model.out(mixed.transpose(1, 2).flatten(2)), out)
    other = shaken(ac.nn.Attention(16, H))
    drop_in = shaken(ac.nn.MultiheadAttention(16, H, batch_first=True))
    with watched(other) as calls, watched(drop_in) as more:
        other(y, x)
        drop_in(y, x, x)
        drop_in(y, y, y)
    assert [seen.cross for seen in calls + more] == [True, True, False]


def test_an_approximation_weighs_no_pair_and_is_no_layer():
    model = nn.Sequential(
        ac.nn.Attention(16, H, ac.mechanism("linformer", rank=2), length=N),
        ac.nn.Attention(16, H),
        nn.MultiheadAttention(16, H),
        gpt(1),
    )
    assert [*Functions().layers(model)] == ["1", "2"]


@pytest.mark.parametrize("mechanism", [ac.Linformer(2), ac.Linear(causal=True)], ids=str)
def test_nor_does_what_it_calls_compare_tokens(mechanism):
    length = N if isinstance(mechanism, ac.Linformer) else None
    layers = [ac.nn.Attention(16, H, mechanism, length=length), ac.nn.Attention(16, H)]
    model, x = nn.Sequential(*layers), drawn(B, N, 16)
    with ac.capture(model, layers=lambda name, module: name == "0") as alone:
        out = model(x)
    with ac.capture(layers[0]) as whole, ac.capture(model) as both:
        assert torch.equal(model(x), out)
    assert (alone.names, alone.missed) == ((), ("0",))
    assert whole.names == ()
    assert both.names == ("1",)


def test_nested_tensors_are_refused_in_words():
    q = torch.nested.nested_tensor([torch.ones(H, 3, D), torch.ones(H, 2, D)], layout=torch.jagged)
    with (
        watched(model := Calls(), ""),
        pytest.raises(UnsupportedOption, match="that is nested, which cannot be captured"),
    ):
        model(*[q.transpose(1, 2)] * 3)


def test_under_autocast_it_is_seen_as_narrow_as_it_is_computed():
    with watched(model := Calls(), "") as calls, torch.autocast("cpu", torch.bfloat16):
        model(*qkv())
    assert calls[0].q.dtype == torch.bfloat16


def test_a_key_mask_of_ours_that_changes_later_was_seen_as_it_was():
    model, keys = shaken(ac.nn.Attention(16, H)), KEYS.clone()
    with watched(model) as calls:
        model(drawn(B, M, 16), key_mask=keys)
    keys[:] = True
    assert torch.equal(calls[0].wishes["key_mask"], KEYS)
