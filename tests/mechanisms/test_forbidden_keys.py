"""No output bit and no gradient depends on a key that a query may not read."""

import math

import pytest
import torch
from tests.every import MECHANISMS, every_mechanism
from tests.mechanisms.given import gradients, learned
from tests.oracle import random_qkv

every_causal = pytest.mark.parametrize(
    "mechanism", [one for one in MECHANISMS if one.causal], ids=str
)
# Over several chunks where there are some.
every_path = pytest.mark.parametrize(("path", "n"), [("attend", 150), ("reference", 20)])
N = 150


def qkv_of(generator, n=N):
    return random_qkv(generator, n, n, heads=(4, 2), features=(8, 5))


def changed(x, hidden, value):
    """Return a leaf with this value in place of hidden keys."""
    return x.detach().masked_fill(hidden[..., None], value).requires_grad_()


@every_mechanism
@every_path
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e300, -700.0])
def test_what_a_masked_key_holds_changes_no_bit(mechanism, path, n, value, generator):
    q, k, v = qkv_of(generator, n)
    parameters = learned(mechanism, (q, k, v), generator)
    key_mask = torch.rand(2, n, generator=generator) > 0.4
    hidden = ~key_mask[:, None]
    found = []
    for inputs in ([q, k, v], [q, changed(k, hidden, value), changed(v, hidden, value)]):
        out = getattr(mechanism, path)(*inputs, parameters, key_mask=key_mask)
        found.append([out, *gradients(out, [*inputs, *parameters.values()])])
    assert all(map(torch.equal, *found))
    assert not found[0][2].masked_select(hidden[..., None]).any(), "a gradient of a hidden key"


@every_mechanism
@every_path
def test_a_query_that_reads_no_key_returns_0_with_gradient_0(mechanism, path, n, generator):
    qkv = qkv_of(generator, n)
    parameters = learned(mechanism, qkv, generator)
    key_mask = torch.zeros(2, n, dtype=torch.bool)
    out = getattr(mechanism, path)(*qkv, parameters, key_mask=key_mask)
    assert not out.any()
    assert not any(x.any() for x in gradients(out, [*qkv, *parameters.values()]))


@every_mechanism
@pytest.mark.parametrize("side", ["left", "right", "both"])
def test_padding_on_any_side_or_none_gives_the_same(mechanism, side, generator):
    qkv = qkv_of(generator)
    more = {"left": (80, 0), "right": (0, 80), "both": (13, 67)}[side]
    parameters = learned(mechanism, qkv, generator, longer=80)
    padded = [torch.nn.functional.pad(x, (0, 0, *more), value=9.0) for x in qkv]
    places = slice(more[0], more[0] + N)
    key_mask = torch.zeros(2, N + 80, dtype=torch.bool)
    key_mask[:, places] = True
    out = mechanism.attend(*padded, parameters, key_mask=key_mask)
    torch.testing.assert_close(out[:, :, places], mechanism.attend(*qkv, parameters))


@every_causal
@every_path
@pytest.mark.parametrize("value", [1e3, -1e3, 1e300, 0.0, math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("share", [0.05, 0.42, 0.7])
def test_later_keys_change_no_bit_of_earlier_rows(mechanism, path, n, value, share, generator):
    q, k, v = qkv_of(generator, n)
    first = int(share * n)
    later = (torch.arange(n) >= first).expand(2, 2, n)
    found = []
    for inputs in ([q, k, v], [q, changed(k, later, value), changed(v, later, value)]):
        out = getattr(mechanism, path)(*inputs, {})[:, :, :first]
        found.append([out, *gradients(out, inputs)])
    assert all(map(torch.equal, *found))


@every_causal
def test_the_scale_of_later_keys_changes_no_bit_of_earlier_rows(mechanism, generator):
    q, k, v = (x.detach().float() for x in qkv_of(generator))
    past = mechanism.attend(q, k, v, {})[:, :, :90]
    for scale in (1e-6, 30.0, 1e6):
        k = k.clone()
        k[:, :, 90:] *= scale
        assert torch.equal(mechanism.attend(q, k, v, {})[:, :, :90], past)


@every_causal
def test_every_earlier_key_is_read(mechanism, generator):
    """The law would hold for a mechanism that reads too little."""
    q, k, _ = (x.detach() for x in qkv_of(generator))
    each = torch.eye(N, dtype=q.dtype).expand(2, 2, N, N)
    read = mechanism.attend(q[:, :, 20:], k, each, {}) > 0
    assert torch.equal(read, torch.ones(N - 20, N).tril(20).bool().expand(read.shape))


@every_causal
@every_path
def test_a_row_that_reads_nan_does_not_look_healthy(mechanism, path, n, generator):
    q, k, v = qkv_of(generator, n)
    bad = n // 2
    spoilt = (torch.arange(n) == bad).expand(2, 2, n)
    out = getattr(mechanism, path)(q, changed(k, spoilt, math.nan), v, {})
    assert out[:, :, bad:].isnan().all()
    assert out[:, :, :bad].isfinite().all()
