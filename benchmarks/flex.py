"""Compiled flex_attention as its users write it: one predicate a subject, with numbers in the code.

Numbers that a predicate finds elsewhere become sizes that may change, and torch 2.13 then writes
C++ that does not compile. Shapes may change: on a CPU that runs as fast as fixed ones, and one
compilation serves all lengths. Only the numbers of documents must have a fixed length, for the same
reason. It has no backward on a CPU. Subjects without a predicate here are not compared with it.
"""

from collections.abc import Callable
from functools import cache
from typing import Final

import torch
import torch._dynamo
from benchmarks.subjects import mask_of, segments
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, create_block_mask, flex_attention

Predicate = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

_NEAR: Final[dict[str, Predicate]] = {
    "window": lambda b, h, i, j: (j <= i) & (i - j < 256),
    "dilated": lambda b, h, i, j: (j <= i) & (i - j < 512) & ((i - j) % 2 == 0),
    "strided": lambda b, h, i, j: (j <= i) & ((i - j < 128) | ((i - j) % 128 == 0)),
    "fixed": lambda b, h, i, j: (j <= i) & ((i // 128 == j // 128) | (j % 128 >= 120)),
    "longformer": lambda b, h, i, j: ((i - j).abs() <= 256) | (i < 16) | (j < 16),
    "block": lambda b, h, i, j: i // 64 == j // 64,
}
SUBJECTS: Final = (*_NEAR, "bigbird", "documents")


def flex(subject: str, n: int) -> Callable[..., Tensor]:
    """Return it for one subject and length, its block mask made."""
    blocks, compiled = _block_mask(subject, n), _compiled(dynamic=subject != "documents")
    return lambda q, k, v: compiled(q, k, v, block_mask=blocks)


@cache
def _block_mask(subject: str, n: int) -> BlockMask:
    return create_block_mask(_predicate(subject, n), None, None, n, n, device="cpu")


def _predicate(subject: str, n: int) -> Predicate:
    if subject == "documents":
        number = segments(n)
        return lambda b, h, i, j: number[i] == number[j]
    if subject == "bigbird":
        layout = mask_of(subject, n)[::64, ::64].contiguous()
        return lambda b, h, i, j: layout[i // 64, j // 64]
    return _NEAR[subject]


@cache
def _compiled(*, dynamic: bool) -> Callable[..., Tensor]:
    # Each subject and type is a compilation of its own; beyond the limit it would not be compiled.
    torch._dynamo.config.recompile_limit = 128
    compiled: Callable[..., Tensor] = torch.compile(flex_attention, dynamic=dynamic, fullgraph=True)
    return compiled
