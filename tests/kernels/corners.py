"""Calls in which implementations of attention have gone wrong, for every kernel to get right."""

import functools

import torch
from tests.every import COMPOSED
from tests.oracle import definition, random_qkv

from attncost import patterns


def telling(examples):
    """Return the example that reads closest to a quarter of all pairs."""
    return min(examples, key=lambda one: abs(one.pairs(129, 129) / 129**2 - 1 / 4))


# One example of each pattern, for what does not depend much on how wide or deep it is.
ONE_EACH = [telling(patterns.load(name).examples()) for name in patterns.names()] + COMPOSED[2:]

# Queries, keys, heads and shared heads, features of keys and values.
SHAPES = [
    (1, 1, (4, 1), (8, 5)),
    (7, 7, (4, 4), (5, 8)),
    (129, 129, (4, 2), (8, 5)),
    (40, 150, (2, 2), (5, 8)),
    (150, 40, (4, 1), (8, 5)),
]
MORE_SHAPES = [
    (0, 0, (4, 4), (8, 8)),
    (0, 5, (4, 4), (8, 8)),
    (5, 0, (4, 2), (8, 5)),
    (1, 77, (4, 2), (8, 8)),
    (64, 64, (4, 1), (8, 8)),
    (300, 300, (2, 1), (8, 8)),
]

# How long the documents are of which one sequence consists, the other is a single one.
DOCUMENTS = (1, 30, 1, 1, 65, 12)


def holes(m):
    return torch.rand(2, m, generator=torch.Generator().manual_seed(1)) > 1 / 3


def keys(m, *, hide):
    """Hide keys of the first sequence only."""
    key_mask = torch.ones(2, m, dtype=torch.bool)
    key_mask[0, hide] = False
    return key_mask


def numbered(numbers, lengths=DOCUMENTS):
    """Number documents of the first sequence; the second one is a single document."""
    first = [number for number, n in zip(numbers, lengths, strict=True) for _ in range(n)]
    return torch.tensor([first, [numbers[0]] * len(first)])


# Queries, keys, and what hides some of them.
HIDDEN = {
    "padding on the left": (70, 70, {"key_mask": keys(70, hide=slice(23))}),
    "padding on the right": (70, 70, {"key_mask": keys(70, hide=slice(50, None))}),
    "holes": (70, 70, {"key_mask": holes(70)}),
    "one whole sequence": (70, 70, {"key_mask": keys(70, hide=slice(None))}),
    "every key": (33, 40, {"key_mask": torch.zeros(2, 40, dtype=torch.bool)}),
    "the tail of a cache": (12, 150, {"key_mask": keys(150, hide=slice(100, None))}),
    "holes, fewer keys": (90, 40, {"key_mask": holes(40)}),
    "documents": (110, 110, {"segments": numbered(range(6))}),
    "documents, numbers with gaps": (110, 110, {"segments": numbered((7, 9, -3, 10**9, 0, 1))}),
    "documents, numbers that recur": (110, 110, {"segments": numbered((0, 1, 0, 2, 1, 0)).int()}),
    "documents of one token": (70, 70, {"segments": torch.arange(140).reshape(2, 70)}),
    "documents, more keys": (40, 110, {"segments": numbered(range(6))}),
    "documents, more queries": (110, 40, {"segments": numbered(range(6))}),
    "documents and holes": (110, 110, {"segments": numbered(range(6)), "key_mask": holes(110)}),
}


def cotangent(out):
    generator = torch.Generator().manual_seed(2)
    return torch.randn(out.shape, dtype=torch.float64, generator=generator).to(out.dtype)


def with_gradients(out, tensors):
    """Return the output and its gradients with respect to the tensors that want one."""
    wanted = [x for x in tensors if isinstance(x, torch.Tensor) and x.requires_grad]
    return out.detach(), *torch.autograd.grad(out, wanted, cotangent(out), materialize_grads=True)


@functools.lru_cache(maxsize=8)
def qkv_of(n, m, heads=(4, 2), features=(8, 5), batch=2):
    generator = torch.Generator().manual_seed(0)
    return random_qkv(generator, n, m, heads=heads, features=features, batch=batch)


# The kernel varies fastest, so that what is exact is computed once for all of them.
@functools.lru_cache(maxsize=1)
def exact(pattern, n, m, heads, features):
    qkv = qkv_of(n, m, heads, features)
    return with_gradients(definition(*qkv, pattern.mask(n, m))[0], qkv)


@functools.lru_cache(maxsize=1)
def exact_hidden(pattern, name):
    n, m, options = HIDDEN[name]
    qkv = qkv_of(n, m)
    return with_gradients(definition(*qkv, pattern.mask(n, m), **options)[0], qkv)
