"""The one pass over all weights: block by block, in as many heads at once as fit near the cache.

    time  O(b h pairs (d + e)) and some fifteen looks at each weight,  memory  O(b h n e)

where `pairs` are those of all blocks. Weights of a block are written once, and read by rows, by
columns and by distance.
"""

from collections.abc import Iterator

import torch

from attncost.view.statistics.blocks import Block, blocks
from attncost.view.statistics.extents import Extents, extents
from attncost.view.statistics.piece import Piece
from attncost.view.statistics.skewed import Buffers
from attncost.view.statistics.step import Step
from attncost.view.statistics.subject import Subject
from attncost.view.statistics.sums import Sums


def walk(subject: Subject) -> Sums:
    """Return the sums of all blocks."""
    # Nobody sees these tensors, so they need not know of gradients, which takes time a call.
    with torch.inference_mode():
        return _walked(subject)


def _walked(subject: Subject) -> Sums:
    sums = Sums.of(subject)
    b, h, n, m = subject.sizes
    found = blocks(subject.pattern, n, m) if b * h else ()
    if not found:
        return sums
    buffers = Buffers(subject.q, found, m)
    ends = extents(subject.options, n, m)
    step = Step(subject, sums, buffers, ends)
    for block in found:
        step.enter(block)
        for piece in _pieces(block, (b, h), buffers.lanes, ends, m - n):
            step.take(piece)
    return sums


def _pieces(
    block: Block, sizes: tuple[int, int], lanes: int, ends: Extents | None, shift: int
) -> Iterator[Piece]:
    """Cut a block into heads of one sequence or, where there is room, whole sequences."""
    b, h = sizes
    some, every = min(h, lanes), max(1, lanes // h)
    for sequence in range(0, b, every):
        sequences = slice(sequence, min(sequence + every, b))
        keys = block.keys
        if ends is not None:
            keys = _narrowed(block, ends.keys(sequences, block.queries), shift)
        for head in range(0, h if keys else 0, some):
            heads = slice(head, min(head + some, h))
            side_by_side = slice(sequence * h + heads.start, (sequences.stop - 1) * h + heads.stop)
            yield Piece(sequences, heads, side_by_side, block.queries, keys)


def _narrowed(block: Block, read: range, shift: int) -> range:
    """Return the keys of a block that lie between others.

    If there were keys up to the last query, one stays, as the buffers are made for that.
    """
    last, keys = block.queries[-1] + shift, block.keys
    if max(keys.start, read.start) >= min(keys.stop, read.stop):
        return range(0)
    start = max(keys.start, min(read.start, last))
    return range(start, min(keys.stop, read.stop))
