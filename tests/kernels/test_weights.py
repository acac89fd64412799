"""Weights on request are those of the definition, for some rows, without all the others."""

import math

import pytest
import torch
from tests.every import every_pattern
from tests.oracle import definition, random_key_mask, random_qkv

from attncost import MemoryMonitor, ShapeError, Window
from attncost.kernels.attention import attention
from attncost.kernels.weights import attention_weights
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full

N, M = 33, 40


def exact_weights(q, k, pattern, **options):
    """Let every value name its key, so that what comes out is the weights."""
    n, m = q.shape[2], k.shape[2]
    names = torch.eye(m, dtype=q.dtype).expand(*k.shape[:2], m, m)
    return definition(q, k, names, pattern.mask(n, m), **options)[0]


@every_pattern
@pytest.mark.parametrize("heads", [(4, 4), (4, 2)], ids=str)
@pytest.mark.parametrize(("n", "m"), [(N, M), (M, N), (1, 7), (0, 5), (5, 0)])
def test_all_rows_are_those_of_the_definition(pattern, heads, n, m, generator):
    q, k, _ = random_qkv(generator, n, m, heads=heads)
    torch.testing.assert_close(attention_weights(q, k, pattern), exact_weights(q, k, pattern))


@every_pattern
def test_every_option_does_what_it_does_to_attention(pattern, generator):
    q, k, v = random_qkv(generator, N, M, heads=(4, 2))
    options = {
        "key_mask": random_key_mask(generator, M),
        "segments": torch.randint(3, (2, M), generator=generator).sort()[0],
        "bias": torch.randn(2, 1, N, M, dtype=q.dtype, generator=generator),
        "alibi": torch.rand(4, dtype=q.dtype, generator=generator),
        "softcap": 2.0,
        "sink": torch.randn(4, dtype=q.dtype, generator=generator),
        "scale": 0.4,
    }
    weights = attention_weights(q, k, pattern, rows=range(3, 30, 4), **options)
    exact = exact_weights(q, k, pattern, **options)
    torch.testing.assert_close(weights, exact[:, :, 3:30:4])
    out = attention(q, k, v, pattern, kernel="reference", **options)
    torch.testing.assert_close(weights @ v.repeat_interleave(2, 1), out[:, :, 3:30:4])


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (4, [4]),
        (-1, [N - 1]),
        (slice(2, 20, 5), [2, 7, 12, 17]),
        (slice(None, None, -11), [32, 21, 10]),
        (range(-3, 0), [30, 31, 32]),
        (range(5, 5), []),
        ([], []),
        ([7, 7, -2], [7, 7, 31]),
        (torch.tensor([0, -33], dtype=torch.int32), [0, 0]),
    ],
    ids=str,
)
def test_rows_are_chosen_as_python_chooses(rows, expected, generator):
    q, k, _ = random_qkv(generator, N, M)
    exact = exact_weights(q, k, Causal())[:, :, expected]
    torch.testing.assert_close(attention_weights(q, k, Causal(), rows=rows), exact)


@pytest.mark.parametrize("keys", [slice(3, 9), range(-4, 0), range(0, 40, 7), slice(9, 9)], ids=str)
def test_keys_that_are_not_returned_still_take_their_share(keys, generator):
    q, k, _ = random_qkv(generator, N, M)
    exact = exact_weights(q, k, Full())[
        ..., list(range(M)[keys] if isinstance(keys, slice) else keys)
    ]
    torch.testing.assert_close(attention_weights(q, k, keys=keys), exact)


def test_rows_sum_to_one_to_less_with_a_sink_and_to_nothing_if_they_read_nothing(generator):
    q, k, _ = random_qkv(generator, 9, 4)
    weights = attention_weights(q, k, Causal())
    assert not weights[:, :, :5].any(), "the first five queries stand before the first key"
    torch.testing.assert_close(weights[:, :, 5:].sum(-1), torch.ones(2, 4, 4, dtype=q.dtype))
    sink = torch.zeros(4, dtype=q.dtype)
    assert (attention_weights(q, k, Causal(), rows=range(5, 9), sink=sink).sum(-1) < 1).all()


def test_gradients_are_those_of_the_definition(generator):
    q, k, _ = random_qkv(generator, N, M, heads=(4, 2))
    bias = torch.randn(1, 4, N, M, dtype=q.dtype, generator=generator).requires_grad_()
    sink = torch.randn(4, dtype=q.dtype, generator=generator).requires_grad_()
    key_mask, wanted = random_key_mask(generator, M), [0, 8, 32]
    options = {"bias": bias, "sink": sink, "key_mask": key_mask}
    weights = attention_weights(q, k, Window(7), rows=wanted, **options)
    exact = exact_weights(q, k, Window(7), **options)[:, :, wanted]
    cotangent = torch.randn(weights.shape, dtype=q.dtype, generator=generator)
    inputs = [q, k, bias, sink]
    torch.testing.assert_close(
        torch.autograd.grad(weights, inputs, cotangent),
        torch.autograd.grad(exact, inputs, cotangent),
    )
    assert not weights[-1].any(), "nothing may be read in the last sequence"


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_bad_key_spoils_only_the_rows_that_read_it(value, generator):
    q, k, _ = random_qkv(generator, N, N)
    spoilt = k.detach().clone()
    spoilt[:, :, 20] = value
    spoilt.requires_grad_()
    clean, dirty = attention_weights(q, k, Causal()), attention_weights(q, spoilt, Causal())
    assert torch.equal(clean[:, :, :20], dirty[:, :, :20])
    assert dirty[:, :, 20:].sum(-1).isnan().all(), "a row that reads it must not look healthy"
    for weights, keys in ((clean, k), (dirty, spoilt)):
        gradients = torch.autograd.grad(weights[:, :, :20].square().sum(), [q, keys])
        assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_rounds_the_weights_and_not_the_scores(dtype, generator):
    q, k, _ = (x.detach().to(dtype) for x in random_qkv(generator, N, M))
    weights = attention_weights(q, k, Causal(), scale=2.0)
    assert weights.dtype == dtype
    exact = exact_weights(q.double(), k.double(), Causal(), scale=2.0)
    # One unit in the last place, or of the smallest number that there is.
    one = torch.finfo(dtype).eps
    torch.testing.assert_close(weights, exact.to(dtype), rtol=one, atol=6e-8)


def test_memory_is_that_of_the_rows_that_are_asked_for(generator):
    q, k, _ = (x.detach() for x in random_qkv(generator, 4096, 4096, heads=(8, 8), batch=1))
    with MemoryMonitor() as memory:
        weights = attention_weights(q, k, Causal(), rows=slice(None, None, 4), keys=range(8))
    assert weights.shape == (1, 8, 1024, 8)
    # All scores of these rows are 256 MiB, some of them at once 8 MiB.
    assert memory.peak < 64 * 2**20


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"rows": 33}, r"rows must lie in \[-33, 33\), as there are 33, got 33"),
        ({"rows": [3, -34]}, "got -34"),
        ({"rows": range(30, 34)}, "got 33"),
        ({"keys": range(41)}, r"keys must lie in \[-40, 40\), as there are 40, got 40"),
        (
            {"rows": torch.tensor([0.5])},
            r"rows must be whole numbers along one axis, got torch.float32",
        ),
        ({"rows": torch.ones(33, dtype=torch.bool)}, "got torch.bool"),
        ({"rows": torch.zeros(2, 2, dtype=torch.long)}, r"of shape \(2, 2\)"),
        ({"softcap": -1.0}, "softcap must be a number greater than 0"),
    ],
    ids=str,
)
def test_a_mistaken_request_is_told_what_is_right(asked, message, generator):
    q, k, _ = random_qkv(generator, N, M)
    with pytest.raises(ShapeError, match=message):
        attention_weights(q, k, Causal(), **asked)
