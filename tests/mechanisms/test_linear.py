"""Linear attention is its definition, in numbers of any size, and nothing is added to it."""

import math
from decimal import Decimal

import pytest
import torch
from tests.oracle import random_qkv
from torch.nn.functional import scaled_dot_product_attention

from attncost import Linear, MemoryMonitor, UnknownName

EVERY = Linear.examples()
every = pytest.mark.parametrize("mechanism", EVERY, ids=str)
maps = pytest.mark.parametrize("name", ["elu", "softmax"])


def elu(x):
    return [one.exp() if one < 0 else 1 + one for one in x]


def softmax(x):
    exponentials = [one.exp() for one in x]
    return [one / sum(exponentials) for one in exponentials]


def dot(a, b):
    return sum((one * other for one, other in zip(a, b, strict=True)), Decimal())


def definition(mechanism, q, k, v):
    """Return it for one head, in numbers of 28 digits whose exponents have no bounds."""
    phi = {"elu": elu, "softmax": softmax}[mechanism.feature_map]
    q, k, v = ([list(map(Decimal, row)) for row in x.squeeze((0, 1)).tolist()] for x in (q, k, v))
    q, k, later = list(map(phi, q)), list(map(phi, k)), len(k) - len(q)
    rows = []
    for i, query in enumerate(q):
        count = max(0, i + later + 1) if mechanism.causal else len(k)
        weights = [dot(query, key) for key in k[:count]]
        sums = [dot(weights, column[:count]) for column in zip(*v, strict=True)]
        rows.append([float(one / sum(weights)) if count else 0.0 for one in sums])
    return torch.tensor(rows, dtype=torch.float64)[None, None]


@every
@pytest.mark.parametrize(("n", "m"), [(70, 70), (3, 8), (8, 3)])
def test_it_is_what_the_definition_says(mechanism, n, m, generator):
    q, k, v = (
        x.detach() for x in random_qkv(generator, n, m, heads=(1, 1), features=(3, 2), batch=1)
    )
    exact = definition(mechanism, q, k, v)
    torch.testing.assert_close(mechanism.attend(q, k, v, {}), exact)
    torch.testing.assert_close(mechanism.reference(q, k, v, {}), exact)


@every
@pytest.mark.parametrize("spread", [40.0, 200.0])
def test_and_so_it_is_where_tokens_have_no_feature_in_common(mechanism, spread, generator):
    # Products of two tokens go down to exp(-2 spread), which float64 cannot hold.
    q, k, v = (
        x.detach() for x in random_qkv(generator, 12, 12, heads=(1, 1), features=(3, 2), batch=1)
    )
    q, k = (spread * x.clamp(-1, 1) for x in (q, k))
    exact = definition(mechanism, q, k, v)
    torch.testing.assert_close(mechanism.attend(q, k, v, {}), exact, rtol=1e-9, atol=0)


@every
def test_in_float32_features_of_a_token_may_lie_50_nats_apart(mechanism, generator):
    # No query has a feature in common with a key, so that products of the least ones decide.
    apart = -49 - torch.rand(2, 2, 1, 150, dtype=torch.float64, generator=generator)
    q, k = (torch.stack(pair, -1) for pair in ((0 * apart[0], apart[0]), (apart[1], 0 * apart[1])))
    v = torch.randn(2, 1, 150, 3, dtype=torch.float64, generator=generator)
    exact = mechanism.reference(q, k, v, {})
    found = mechanism.attend(*(x.float() for x in (q, k, v)), {})
    torch.testing.assert_close(found.double(), exact, rtol=0, atol=1e-4)


@maps
def test_further_apart_a_row_without_a_common_feature_is_some_average(name):
    """Its limitation: the first key shares a feature to e^-100, the second to e^-80."""
    q = torch.tensor([[-100.0, 0.0]])[None, None]
    k = torch.tensor([[0.0, -100.0], [0.0, -80.0]])[None, None]
    v = torch.tensor([[0.0], [1.0]])[None, None]
    out, exact = (f(q, k, v, {}).item() for f in (Linear(name).attend, Linear(name).reference))
    assert exact > 0.999
    assert 0 <= out <= 0.6


@pytest.mark.parametrize("scale", [0.0, 1e-30, 1.0, 1e4, 1e30])
@maps
def test_the_first_row_is_the_first_value(name, scale, generator):
    qkv = [x.detach().float() for x in random_qkv(generator, 80, 80, heads=(4, 2), batch=8)]
    q, k, v = scale * qkv[0], scale * qkv[1], qkv[2]
    out = Linear(name, causal=True).attend(q, k, v, {})
    torch.testing.assert_close(out[:, ::2, 0], v[:, :, 0], rtol=1e-5, atol=0)
    assert out.isfinite().all()


@maps
@pytest.mark.parametrize("level", [-1000.0, -90.0, 0.0, 1000.0])
def test_equal_keys_are_averaged_however_small(name, level, generator):
    q, _, v = (x.detach().float() for x in random_qkv(generator, 200, 200))
    k = torch.full_like(q, level)
    for queries in (q, k):
        out = Linear(name, causal=True).attend(queries, k, v, {})
        counts = torch.arange(1, 201)[:, None]
        torch.testing.assert_close(out, v.cumsum(2) / counts)


def test_keys_that_were_tiny_are_forgotten_when_greater_ones_come():
    k = torch.full((1, 1, 130, 4), -1000.0)
    k[:, :, 100:] = 0
    v = torch.cat([torch.zeros(1, 1, 100, 1), torch.ones(1, 1, 30, 1)], 2)
    out = Linear(causal=True).attend(torch.zeros_like(k), k, v, {})
    assert torch.equal(out, v)


@every
def test_a_shift_of_a_value_shifts_the_average(mechanism, generator):
    """Weights sum to 1, so that there is no hidden term beside the denominator."""
    q, k, v = (x.detach().float() for x in random_qkv(generator, 300, 300))
    out = mechanism.attend(q - 30, k - 30, torch.full_like(v, 7.0), {})
    torch.testing.assert_close(out, torch.full_like(v, 7.0), rtol=1e-6, atol=0)


@every
def test_autocast_does_not_round_its_sums(mechanism, generator):
    q, k, v = (x.detach().float() for x in random_qkv(generator, 130, 130))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = mechanism.attend(q, k, v, {})
    assert torch.equal(inside, mechanism.attend(q, k, v, {}))


@maps
def test_gradients_are_those_of_finite_differences(name, generator):
    mechanism = Linear(name, causal=True)
    qkv = random_qkv(generator, 3, 5, heads=(2, 1), features=(3, 2), batch=1)
    assert torch.autograd.gradcheck(lambda *x: mechanism.attend(*x, {}), qkv)


@pytest.mark.parametrize("causal", [True, False])
def test_memory_of_training_is_linear(causal):
    peaks = []
    for n in (768, 1536):
        qkv = [torch.randn(1, 1, n, 8, requires_grad=True) for _ in range(3)]
        with MemoryMonitor("cpu") as meter:
            Linear(causal=causal).attend(*qkv, {}).sum().backward()
        peaks.append(meter.peak)
    assert peaks[0] < peaks[1] < 2.1 * peaks[0]


def test_it_is_not_softmax_attention(generator):
    q, k, v = (x.detach() for x in random_qkv(generator, 40, 40))
    exact = scaled_dot_product_attention(q, k, v)
    errors = [(one.attend(q, k, v, {}) - exact).norm() / exact.norm() for one in EVERY[::2]]
    assert all(0.05 < error < 1 for error in errors)


def test_an_unknown_feature_map_is_refused():
    with pytest.raises(UnknownName, match=r"no feature map is called 'relu'.* Known: elu, softmax"):
        Linear("relu")


def test_a_state_holds_no_more_than_about_as_many_keys_as_features():
    """Its limitation: of many orthogonal keys none is recalled, where softmax recalls each."""
    k = 30 * torch.eye(64)[None, None]
    v = torch.eye(64)[None, None]
    recalled = scaled_dot_product_attention(k, k, v).squeeze().diagonal()
    flat = Linear().attend(k, k, v, {}).squeeze().diagonal()
    assert recalled.min() > 0.99
    assert math.isclose(flat.max(), (31**2 + 63) / (31**2 + 63 + 63 * (2 * 31 + 62)), rel_tol=1e-4)
