"""Errors of approximations against dense matrices in NumPy, in float64."""

import numpy as np
import pytest
import torch

from attncost.core.errors import ShapeError
from attncost.train.quality.errors import errors_by_dial, random_calls


def softmax(scores):
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def elu_features(x):
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def dense(call, *, causal):
    q, k, v = (x.numpy()[0] for x in call)
    scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[2])
    hidden = np.triu(np.ones(scores.shape[1:], bool), 1) & causal
    return q, k, v, np.where(hidden, -np.inf, scores)


def relative(found, exact):
    return np.linalg.norm(found - exact) / np.linalg.norm(exact)


@pytest.mark.parametrize("causal", [False, True])
def test_errors_are_those_of_dense_matrices(causal):
    (call,) = calls = random_calls(heads=2, length=24, head_dim=8)
    q, k, v, scores = dense(call, causal=causal)
    weights = softmax(scores)
    exact = weights @ v
    apart = np.arange(24)[:, None] - np.arange(24)
    after = 0 if causal else 3
    near = (apart <= 7 - after) & (apart >= -after)
    linear = {
        "elu": elu_features(q) @ elu_features(k).swapaxes(1, 2),
        "softmax": softmax(q) @ softmax(k).swapaxes(1, 2),
    }
    linear = {name: np.where(np.isinf(scores), 0, x) for name, x in linear.items()}
    expected = {
        "window": relative(softmax(np.where(near, scores, -np.inf)) @ v, exact),
        **{
            f"linear {name}": relative(x / x.sum(-1, keepdims=True) @ v, exact)
            for name, x in linear.items()
        },
    }
    if not causal:
        u, values, vh = np.linalg.svd(weights)
        cut = (u[..., :8] * values[:, None, :8]) @ vh[:, :8]
        expected["best rank"] = relative(cut @ v, exact)
    found = {row.method: row for row in errors_by_dial(calls, causal=causal, dials=[8])}
    for method, error in expected.items():
        assert found[method].error == pytest.approx(error, rel=1e-9), method
    assert ("linformer" in found) != causal


def test_a_projection_errs_as_the_dense_definition_with_the_same_numbers():
    (call,) = random_calls(heads=2, length=24, head_dim=8)
    q, k, v, scores = dense(call, causal=False)
    exact = softmax(scores) @ v
    drawn = torch.randn(8, 24, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mixed = drawn.numpy() / np.sqrt(8)
    other = softmax(q @ (mixed @ k).swapaxes(1, 2) / np.sqrt(8)) @ (mixed @ v)
    rows = errors_by_dial([call], dials=[8])
    (found,) = (row.error for row in rows if row.method.startswith("linformer"))
    assert found == pytest.approx(relative(other, exact), rel=1e-9)


def test_the_widest_dials_are_exact_and_several_calls_have_a_range():
    calls = [random_calls(heads=1, length=8, head_dim=4, seed=seed)[0] for seed in (0, 1)]
    rows = {(r.method, r.dial): r for r in errors_by_dial(calls, causal=True, dials=[2, 8, 16])}
    assert rows["window", 8].error < 1e-12
    assert ("window", 16) not in rows, "there are no 16 keys"
    row = rows["window", 2]
    assert row.low < row.error < row.high
    assert row.error == pytest.approx((row.low + row.high) / 2)


def test_heads_that_share_keys_are_compared_as_if_they_did_not():
    (q, k, v) = random_calls(heads=2, length=8, head_dim=4)[0]
    shared = [(q, k[:, :1], v[:, :1])]
    apart = [(q, k[:, [0, 0]], v[:, [0, 0]])]
    assert errors_by_dial(shared, dials=[2]) == errors_by_dial(apart, dials=[2])


def test_no_call_and_cross_attention_are_refused():
    (q, k, v) = random_calls(heads=1, length=8, head_dim=4)[0]
    for calls in ([], [(q[:, :, :3], k, v)]):
        with pytest.raises(ShapeError, match="self-attention"):
            errors_by_dial(calls)
