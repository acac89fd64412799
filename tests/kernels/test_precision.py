"""Errors are no larger than those of PyTorch's own attention under a dense mask."""

import functools

import pytest
import torch
from tests.kernels.attend import attend, every_kernel
from tests.kernels.corners import cotangent, telling
from tests.kernels.wishes import needed
from tests.oracle import definition
from torch.nn.functional import scaled_dot_product_attention

from attncost import patterns

SEEDS, N, FEATURES = 20, 300, 32
# In all of these every row reads something, which PyTorch's own attention needs.
EXAMPLES = [
    telling(patterns.load(name).examples())
    for name in ("full", "causal", "window", "strided", "longformer")
]
every_example = pytest.mark.parametrize("pattern", EXAMPLES, ids=str)


@functools.cache
def inputs(dtype):
    """Return one sequence for each seed."""
    one = [torch.Generator().manual_seed(seed) for seed in range(SEEDS)]
    return [
        torch.stack([torch.randn(1, N, FEATURES, generator=g) for g in one]).to(dtype)
        for _ in range(3)
    ]


def with_gradients(function, qkv):
    leaves = [x.detach().clone().requires_grad_() for x in qkv]
    out = function(*leaves)
    return out.detach(), *torch.autograd.grad(out, leaves, cotangent(out))


@functools.lru_cache(maxsize=1)
def exact_and_errors_of_torch(pattern, dtype):
    mask, qkv = pattern.mask(N, N), inputs(dtype)
    weights = cotangent(qkv[2]).double()

    def exactly(*leaves):
        out, _ = definition(*leaves, mask)
        return out

    leaves = [x.double().requires_grad_() for x in qkv]
    out = exactly(*leaves)
    exact = out.detach(), *torch.autograd.grad(out, leaves, weights)
    fused = with_gradients(
        lambda q, k, v: scaled_dot_product_attention(q, k, v, attn_mask=mask), qkv
    )
    return exact, errors(fused, exact)


def errors(found, exact):
    return [
        float((a.double() - b).square().mean().sqrt()) for a, b in zip(found, exact, strict=True)
    ]


def largest(exact):
    return [float(x.abs().max()) for x in exact]


def one_document(kernel, pattern):
    """Return what makes a kernel for documents take the call."""
    segments = torch.zeros(SEEDS, N, dtype=torch.long)
    return {"segments": segments} if needed(kernel, pattern) else {}


@every_kernel
@every_example
def test_in_float32_at_most_twice_as_large(kernel, pattern):
    one = one_document(kernel, pattern)
    found = with_gradients(lambda *x: attend(kernel, *x, pattern, **one), inputs(torch.float32))
    exact, allowed = exact_and_errors_of_torch(pattern, torch.float32)
    eps = torch.finfo(torch.float32).eps
    limits = [2 * rms + 4 * eps * size for rms, size in zip(allowed, largest(exact), strict=True)]
    assert all(a <= b for a, b in zip(errors(found, exact), limits, strict=True)), limits


@every_kernel
@every_example
def test_in_bfloat16_gradients_are_at_most_a_fifth_further_off(kernel, pattern):
    one = one_document(kernel, pattern)
    found = with_gradients(lambda *x: attend(kernel, *x, pattern, **one), inputs(torch.bfloat16))
    exact, allowed = exact_and_errors_of_torch(pattern, torch.bfloat16)
    ratios = [a / b for a, b in zip(errors(found, exact)[1:], allowed[1:], strict=True)]
    assert max(ratios) <= 1.2, f"of dq, dk, dv: {ratios}"
