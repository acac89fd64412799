"""Sequences, each cache, and decoding with it in steps."""

from collections.abc import Callable
from itertools import accumulate, pairwise

import pytest
import torch
from tests.oracle import definition, random_qkv

from attncost import Causal, Pattern, Window, attention
from attncost.nn.cache import Cache
from attncost.nn.dynamic_cache import DynamicCache
from attncost.nn.rolling_cache import RollingCache
from attncost.nn.static_cache import StaticCache

N = 40
THREE: list[tuple[Callable[[], Cache], Pattern]] = [
    (DynamicCache, Causal()),
    (lambda: StaticCache(N), Causal()),
    (lambda: RollingCache(5), Window(5)),
]
each_cache = pytest.mark.parametrize(
    ("make", "pattern"), THREE, ids=["dynamic", "static", "rolling"]
)


def values(generator, *, batch=2, n=N):
    """Return q, k and v of four heads that share two, with values of another size."""
    qkv = random_qkv(generator, n, n, heads=(4, 2), features=(8, 5), batch=batch)
    return [x.detach() for x in qkv]


def left_padding(*padding, n=N):
    return torch.arange(n) >= torch.tensor(padding)[:, None]


def whole(qkv, pattern, key_mask=None):
    n = qkv[0].shape[2]
    return definition(*qkv, pattern.mask(n, n), key_mask=key_mask)[0]


def decoded(cache, qkv, pattern, steps, key_mask=None):
    """Feed tokens in steps and return all outputs; a mask that hides nothing is left out."""
    outs = []
    for start, stop in pairwise(accumulate(steps, initial=cache.tokens)):
        q, k, v = (x[:, :, start:stop] for x in qkv)
        mask = None if key_mask is None else key_mask[:, start:stop]
        k, v, mask = cache.extend(k, v, None if mask is None or mask.all() else mask)
        outs.append(attention(q, k, v, pattern, key_mask=mask))
    return torch.cat(outs, 2)


def assert_equal(out, exact):
    torch.testing.assert_close(out, exact, rtol=0, atol=1e-12)
