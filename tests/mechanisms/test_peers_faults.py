"""What other packages' approximations get wrong, and every mechanism here has right.

Each case was seen to fail on a CPU with torch 2.13 in linformer 0.2.3, nystrom-attention 0.0.14,
performer-pytorch 1.1.4 or linear-attention-transformer 0.19.1, or with elu(x) + 1 written plainly.
"""

import pytest
import torch
from tests.every import MECHANISMS, every_mechanism
from tests.mechanisms.given import learned
from tests.oracle import random_qkv

from attncost import Linear, Linformer, ShapeError, UnsupportedOption
from attncost.nn.attention import Attention

CAUSAL = [one for one in MECHANISMS if one.causal]
every_causal = pytest.mark.parametrize("mechanism", CAUSAL, ids=str)
maps = pytest.mark.parametrize("name", ["elu", "softmax"])


def inputs(generator, n, **sizes):
    return [x.detach().float() for x in random_qkv(generator, n, n, heads=(2, 2), **sizes)]


# linformer refuses more tokens than it has columns by an assertion, in the middle of the model.
@every_mechanism
def test_fewer_tokens_than_declared_work_and_more_are_refused_by_name(mechanism, generator):
    qkv = inputs(generator, 40)
    parameters = learned(mechanism, [x[:, :, :32] for x in qkv], generator)
    for n in (1, 20, 32):
        out = mechanism.attend(*(x[:, :, :n] for x in qkv), parameters)
        assert out.shape[2] == n
        assert out.isfinite().all()
    if parameters:
        with pytest.raises(ShapeError, match="at most 32 keys, got 40"):
            mechanism.attend(*qkv, parameters)


# linformer takes `mask` and ignores it: valid rows move by 87. performer-pytorch masks values and
# not keys: by 0.13. nystrom-attention pads to a multiple of its landmarks on the left, so two
# tokens of masked padding move valid rows by 0.05.
@every_mechanism
def test_a_mask_is_not_swallowed(mechanism, generator):
    q, k, v = inputs(generator, 32)
    parameters = learned(mechanism, (q, k, v), generator)
    key_mask = torch.arange(32).expand(2, 32) < 20
    other = [x.clone() for x in (k, v)]
    for x in other:
        x[:, :, 20:] = 99.0
    found = [
        mechanism.attend(q, *pair, parameters, key_mask=key_mask)[:, :, :20]
        for pair in ((k, v), other)
    ]
    assert torch.equal(*found)
    alone = mechanism.attend(*(x[:, :, :20] for x in (q, k, v)), parameters)
    torch.testing.assert_close(found[0], alone)


# linformer offers nothing causal, and nothing in it says that it cannot be.
def test_what_mixes_the_future_cannot_be_taken_for_causal(generator):
    assert not Linformer().causal
    assert not Linear().causal
    with pytest.raises(UnsupportedOption):
        Linear().stream(*inputs(generator, 3), {})


# performer-pytorch subtracts the maximum over all keys and then adds 1e-4, so greater keys in the
# future drown the past: its rows move by 1.4 of 2.5 (its issue 82).
@every_causal
@pytest.mark.parametrize("change", [lambda k: k + 3, lambda k: 30 * k], ids=["more", "wider"])
def test_no_stabiliser_sees_the_future(mechanism, change, generator):
    q, k, v = inputs(generator, 300)
    greater = torch.cat([k[:, :, :200], change(k[:, :, 200:])], 2)
    past, same = (mechanism.attend(q, keys, v, {})[:, :, :200] for keys in (k, greater))
    assert torch.equal(past, same)


# performer-pytorch: off by 0.17, from the same 1e-4. linear-attention-transformer: by 2.5 with a
# blind spot of 64 tokens, and NaN where keys are 100 times as great, as exp(k) overflows.
@every_causal
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_the_first_row_reads_itself(mechanism, scale, generator):
    q, k, v = inputs(generator, 300)
    out = mechanism.attend(scale * q, scale * k, v, {})
    torch.testing.assert_close(out[:, :, 0], v[:, :, 0], rtol=1e-5, atol=0)
    assert out.isfinite().all()


# linear-attention-transformer takes multiples of its bucket alone.
@every_causal
@pytest.mark.parametrize("n", [1, 63, 65, 300])
def test_any_length_goes(mechanism, n, generator):
    q, k, v = inputs(generator, n)
    exact = mechanism.reference(q.double(), k.double(), v.double(), {})
    torch.testing.assert_close(mechanism.attend(q, k, v, {}).double(), exact, rtol=1e-4, atol=1e-5)


# elu(x) + 1 written plainly: 0 / 0 from keys of -20 on, and with 1e-6 in the denominator off by a
# third at -8, 0 at -20. linear-attention-transformer clamps it at 1e-3: off by 2.8 at -12.
@maps
@pytest.mark.parametrize("level", [-8.0, -12.0, -20.0, -1000.0])
def test_small_keys_are_averaged_and_do_not_vanish(name, level, generator):
    _, _, v = inputs(generator, 8)
    k = torch.full_like(v, level)
    mean = v.cumsum(2) / torch.arange(1, 9)[:, None]
    torch.testing.assert_close(Linear(name, causal=True).attend(k, k, v, {}), mean)


# nystrom-attention gives the mean of padding where all keys are masked.
@every_mechanism
def test_a_sequence_of_padding_alone_reads_0(mechanism, generator):
    qkv = inputs(generator, 32)
    key_mask = torch.tensor([[True], [False]]).expand(2, 32)
    out = mechanism.attend(*qkv, learned(mechanism, qkv, generator), key_mask=key_mask)
    assert out[0].any()
    assert not out[1].any()


# All of them take a module's lengths and masks on trust; here a whole layer keeps them.
@every_mechanism
def test_a_layer_keeps_padding_apart(mechanism, generator):
    torch.manual_seed(0)
    length = {"length": 40} if isinstance(mechanism, Linformer) else {}
    layer = Attention(16, 2, mechanism, **length)
    x = torch.randn(2, 30, 16, generator=generator)
    padded = torch.nn.functional.pad(x, (0, 0, 4, 6), value=50.0)
    key_mask = torch.zeros(2, 40, dtype=torch.bool)
    key_mask[:, 4:34] = True
    torch.testing.assert_close(layer(padded, key_mask=key_mask)[:, 4:34], layer(x))
