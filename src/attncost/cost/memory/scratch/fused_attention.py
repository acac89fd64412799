"""What fused attention holds on a CPU: a block of scores for each thread.

A block is of q queries and at most 512 keys, with q at most 32; 64 from 192 queries on and 256 from
768 on. Forward, a thread holds its scores, the maximum and sum of each row and a block of the
output, all in 32 bits (64 for double precision), and below 32 bits its scores once more in the
inputs' dtype. Backward it holds scores and their gradients likewise, and a sum for each row; the
gradient of the output is copied if it is not contiguous as (batch, length, heads, features). Blocks
are those of torch 2.13; another version may choose others. The sum for each row is the calling
thread's in a memory monitor, which does not see what the others hold. Nothing is known where
oneDNN multiplies blocks, see `onednn`, or they are brought into order for AMX.
"""

from typing import Final

import torch
from torch import Tensor

from attncost.cost.memory.registry import scratch
from attncost.cost.memory.scratch.copies import HALF, Argument, copied
from attncost.cost.memory.scratch.onednn import multiplies, packs

_KEYS: Final = 512


@scratch("aten::_scaled_dot_product_flash_attention_for_cpu")
def flash(query: Tensor, key: Tensor, *_: Argument, out: Argument, **__: Argument) -> int | None:
    """Return the bytes of the blocks of all threads."""
    rows, keys = _block(query, key)
    # Below 32 bits MKL makes these products, whose results have 32.
    rounded = query.dtype not in HALF and multiplies(query.dtype, rows * keys * query.shape[-1])
    if rounded or packs(query.dtype):
        return None
    exact = rows * (keys + 2 + query.shape[-1]) * _accumulated(query)
    return torch.get_num_threads() * (exact + _again(query, rows * keys))


@scratch("aten::_scaled_dot_product_flash_attention_for_cpu_backward")
def flash_backward(
    grad: Tensor, query: Tensor, key: Tensor, *_: Argument, out: Argument, **__: Argument
) -> int | None:
    """Return the bytes of the blocks of all threads, and of the gradient's copy."""
    rows, keys = _block(query, key)
    if multiplies(query.dtype, rows * keys * query.shape[-1]):
        return None
    exact = 2 * rows * keys * _accumulated(query)
    busy = min(torch.get_num_threads(), query.shape[0] * query.shape[1])
    blocks = torch.get_num_threads() * (exact + _again(query, 2 * rows * keys))
    return blocks + busy * rows * _accumulated(query) + copied(grad.transpose(1, 2))


def _block(query: Tensor, key: Tensor) -> tuple[int, int]:
    """Return the rows and columns of a block of scores."""
    queries = query.shape[-2]
    most = 256 if queries >= 768 else 64 if queries >= 192 else 32
    return min(most, queries), min(_KEYS, key.shape[-2])


def _accumulated(x: Tensor) -> int:
    return max(x.itemsize, torch.float32.itemsize)


def _again(x: Tensor, scores: int) -> int:
    return scores * x.itemsize if x.dtype in HALF else 0
