"""PyTorch's flex attention, compiled or not, by the operation that every call of it comes to.

    useful   = pairs of the blocks that a block mask lists, of those not full what `mask_mod` keeps
    executed = all pairs of these blocks

That is what the compiled kernel multiplies; blocks are cut at the end of the sequences, where a GPU
rounds up to tiles of its own. Called without `torch.compile`, flex attention multiplies all n x m
pairs instead: `executed` says what a call costs as it is meant to run. Pairs that a `score_mod`
sets to -inf are not useful. What both functions compute themselves is left out, and so are the
bytes of the blocks' numbers.
"""

from collections.abc import Callable
from typing import Any, Final, final

import torch
from torch import Tensor

from attncost.core.dims import Dims
from attncost.cost.counting.apis.interface import (
    AttentionApi,
    AttentionCall,
    Given,
    itemsize,
    learns,
)
from attncost.cost.counting.block_masks import BlockMask, pairs_kept

_OPERATION: Final[Callable[..., Any]] = torch.ops.higher_order.flex_attention


@final
class FlexAttention(AttentionApi):
    """One call, with a block mask or with one that lets everything through."""

    __slots__ = ()

    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Return the operation."""
        return (_OPERATION,)

    def read(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        score_mod: Callable[..., Tensor],
        block_mask: tuple[Given, ...],
        *rest: Given,
        **named: Given,
    ) -> tuple[AttentionCall, ...]:
        """Return one call; keys of one sequence may serve all."""
        b, h, n, _ = query.shape
        dims = Dims.of(
            query.shape, (b, *key.shape[1:]), (b, *value.shape[1:]), itemsize=itemsize(query)
        )
        names = ("scale", "kernel_options", "score_mod_other_buffers", "mask_mod_other_buffers")
        given = dict(zip(names, rest, strict=False)) | named
        kept = pairs_kept(_mask(score_mod, block_mask, (b, h, n, key.shape[2]), given))
        numbers = query.numel() + key.numel() + value.numel() + b * h * n * value.shape[3]
        return (
            AttentionCall(
                dims=dims,
                useful=kept.useful,
                executed=kept.executed,
                bytes=numbers * dims.itemsize,
                learns=(learns(query), learns(key), learns(value)),
                unknown=kept.unknown,
            ),
        )


def _mask(
    score_mod: Callable[..., Tensor],
    block_mask: tuple[Given, ...],
    sizes: tuple[int, int, int, int],
    given: dict[str, Given],
) -> BlockMask:
    """Return the mask; tensors that its functions need come apart from them in a graph."""
    # Versions differ in what lies between the blocks of keys and the end.
    _, _, count, columns, full_count, full_columns, *_, height, width, mask_mod = block_mask
    of_mask = given.get("mask_mod_other_buffers", ())
    of_score = given.get("score_mod_other_buffers", ())
    return BlockMask(
        some=(count, columns),
        full=None if full_count is None else (full_count, full_columns),
        side=(height, width),
        sizes=sizes,
        mask_mod=(lambda *numbers: mask_mod(*numbers, *of_mask)) if of_mask else mask_mod,
        score_mod=lambda *numbers: score_mod(*numbers, *of_score),
    )
