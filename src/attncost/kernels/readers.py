"""How many queries read each key under a pattern: what a mask of keys is weighed with.

    time  O(n + m) if reading depends on the distance alone,
          O(pairs in tiles that are not full) otherwise

It depends on pattern and lengths alone, so it is kept for the next call, for the next layer.
"""

from functools import lru_cache
from typing import Final

import torch
from jaxtyping import Int
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from attncost.patterns.interface import Part, Pattern, cut

BLOCK: Final = 128
PAIRS_AT_ONCE: Final = 1 << 22


@lru_cache(maxsize=64)
def readers(pattern: Pattern, n: int, m: int) -> Int[Tensor, "{m}"]:
    """Return how many of `n` queries read each of `m` keys, at least one of both.

    >>> from attncost import Causal
    >>> readers(Causal(), 4, 4).tolist()
    [4, 3, 2, 1]
    """
    # Looking at a rule needs real numbers, also where tensors are fake.
    with _disable_current_modes():
        return _by_distance(pattern, n, m) if pattern.relative else _in_tiles(pattern, n, m)


def _by_distance(pattern: Pattern, n: int, m: int) -> Int[Tensor, "{m}"]:
    """A key lies at `n` neighbouring distances from the queries, and the next key one further."""
    distance = torch.arange(1 - m, n, device="cpu")
    read = pattern.allowed(torch.zeros_like(distance), distance)
    until = torch.nn.functional.pad(read.cumsum(0), (1, 0))
    return until[n:] - until[:m]


def _in_tiles(pattern: Pattern, n: int, m: int) -> Int[Tensor, "{m}"]:
    found = torch.zeros(m, dtype=torch.long, device="cpu")
    for part in pattern.parts(n, m, BLOCK):
        alike: dict[tuple[int, ...], Tensor] = {}
        for queries, spans in part.tiles:
            for keys, full in spans:
                found[keys.start : keys.stop : keys.step] += (
                    len(queries) if full else _in_span(part, queries, keys, alike)
                )
    return found


def _in_span(
    part: Part, queries: range, keys: range, alike: dict[tuple[int, ...], Tensor]
) -> Int[Tensor, "_"]:
    """Return how many of the queries read each key, looked up if that is known from elsewhere."""
    if not part.relative:
        return _looked(part, queries, keys)
    shape = (len(queries), queries.step, len(keys), keys.step, keys[0] - queries[0])
    if shape not in alike:
        alike[shape] = _looked(part, queries, keys)
    return alike[shape]


def _looked(part: Part, queries: range, keys: range) -> Int[Tensor, "_"]:
    """Ask the rule, a few rows at a time."""
    columns = torch.tensor(keys, device="cpu")
    found = torch.zeros(len(keys), dtype=torch.long, device="cpu")
    for rows in cut(queries, max(1, PAIRS_AT_ONCE // len(keys))):
        reads = part.allowed(torch.tensor(rows, device="cpu")[:, None], columns)
        found += reads.expand(len(rows), len(keys)).sum(0)
    return found
