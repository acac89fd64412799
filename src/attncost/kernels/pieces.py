"""A call cut into pieces: the tiles of one batched call in one sequence, with all that they need.

Sequences that share every wish are taken together, as more heads of one sequence.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attncost.core.options import Options
from attncost.core.unseen import repeats_left_out
from attncost.kernels.dropout import kept
from attncost.kernels.lanes import Scattered
from attncost.kernels.places import Places
from attncost.kernels.plan import Plan, Step
from attncost.kernels.telling import telling
from attncost.kernels.tiles import Tiles

# Numbers that the tiles of one batched call may write: 16 MiB of float32.
_SLAB: Final = 1 << 22


@final
@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Some tiles of one sequence, in every `group`-th head.

    Attributes:
        sequence: Which one.
        heads: Query heads, as many as there are heads of keys.
        where: The tiles and where they stand.
        tiles: What happens to their scores.
        distance: Tokens between query and key, where ALiBi asks for it.
    """

    sequence: int
    heads: slice
    where: Places
    tiles: Tiles
    distance: Int[Tensor, "_ 1 c r"] | None


@final
@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """What is cut: a plan and wishes for tensors of one shape.

    Attributes:
        plan: The steps.
        options: The wishes.
        q: Shape and device of the queries.
        k: Shape of the keys.
        scale: Factor of the products.
        written: Numbers that a tile writes for each pair in each head: its scores, if any.
        back: Whether gradients of keys and values are written as well.
    """

    plan: Plan
    options: Options
    q: Float[Tensor, "b h n d"]
    k: Float[Tensor, "b g m d"]
    scale: float
    written: int
    back: bool

    def pieces(self) -> Iterator[Piece]:
        """Yield all pieces, in an order that depends on nothing but the shapes."""
        group, batch = self.q.shape[1] // self.k.shape[1], self.q.shape[0]
        slabs = [slab for step in self.plan.steps for slab in step.slabs(*self._most(step))]
        sequences, groups = range(batch), range(group)
        if repeats_left_out(self.q):
            # Only how much memory is taken is asked, and a third takes what the second does.
            sequences, groups, slabs = sequences[:2], groups[:2], telling(slabs)
        for sequence in sequences:
            for slab in slabs:
                where = Places(slab, self.q.shape[2], self.k.shape[2], self.q.device)
                mask = _mask(slab, self.options, sequence, where)
                for first in groups:
                    yield self._piece(sequence, slice(first, None, group), where, mask)

    def _most(self, step: Step) -> tuple[int, int]:
        """Return how many tiles, and how many of their queries, one batched call takes."""
        heads, keys = self.k.shape[1], step.keys.length
        row = heads * keys * self.written
        shared = step.allowed is None or step.alike
        masks = 0 if shared and not self.options.tensors() else keys
        copies = self.back or isinstance(step.keys, Scattered)
        tile = step.queries.length * max(row, masks) + copies * heads * keys * 2 * self.q.shape[3]
        rows = max(1, _SLAB // row) if row else step.queries.length
        return max(1, _SLAB // tile) if tile else step.queries.lanes, rows

    def _piece(
        self,
        sequence: int,
        heads: slice,
        where: Places,
        mask: Bool[Tensor, "_ 1 _ r"] | None,
    ) -> Piece:
        options, bias, weights, distance = self.options, None, None, None
        dtype = torch.promote_types(self.q.dtype, torch.float32)
        if options.bias is not None:
            bias = options.bias[where.in_bias(options.bias, sequence, heads)].to(dtype)
        if options.alibi is not None:
            distance = (where.query - where.key).abs()
            lowered = -options.alibi[heads, None, None].to(dtype) * distance
            bias = lowered if bias is None else bias + lowered
        if options.dropout_p and options.seed is not None:
            h = self.q.shape[1]
            head = torch.arange(sequence * h, (sequence + 1) * h, device=self.q.device)[heads]
            keeps = kept(
                options.seed, head[:, None, None], where.query, where.key, options.dropout_p
            )
            weights = keeps.to(dtype) / (1 - options.dropout_p)
        tiles = Tiles(
            scale=self.scale, mask=mask, bias=bias, softcap=options.softcap, weights=weights
        )
        return Piece(sequence, heads, where, tiles, distance)


def together(options: Options, *tensors: Tensor) -> tuple[Options, list[Tensor]]:
    """Make the heads of all sequences those of one, where that copies nothing and no wish minds."""
    batch, bias = tensors[0].shape[0], options.bias
    if options.key_mask is not None or options.segments is not None:
        return options, list(tensors)
    if bias is not None and bias.shape[:2] != (1, 1):
        return options, list(tensors)
    if batch <= 1 or any(x.stride(0) != x.shape[1] * x.stride(1) for x in tensors):
        return options, list(tensors)
    alibi = None if options.alibi is None else options.alibi.repeat(batch)
    sink = None if options.sink is None else options.sink.repeat(batch)
    return replace(options, alibi=alibi, sink=sink), [x.flatten(0, 1)[None] for x in tensors]


def _mask(
    step: Step, options: Options, sequence: int, where: Places
) -> Bool[Tensor, "_ 1 _ r"] | None:
    """Return what the tiles read."""
    found = []
    if step.allowed is not None:
        here = where.of_first_tile() if step.alike else where
        tiles, queries, keys = step.queries.lanes, step.queries.length, step.keys.length
        mask = step.allowed(here.query, here.key)
        found.append(mask.expand(1 if step.alike else tiles, 1, queries, keys))
    if options.key_mask is not None:
        found.append(options.key_mask[sequence][where.key])
    if options.segments is not None:
        segments, earlier = options.segments[sequence], where.earlier
        found.append(segments[where.query + earlier] == segments[where.key + earlier])
    return reduce(torch.logical_and, found) if found else None
