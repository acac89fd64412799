"""What is measured of one piece: its weights, once, by row, by column and by distance."""

import math
from typing import Final, final

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attncost.view.statistics.blocks import Block
from attncost.view.statistics.distances import Distances
from attncost.view.statistics.extents import Extents
from attncost.view.statistics.piece import Piece
from attncost.view.statistics.scores import Scores, multiplied
from attncost.view.statistics.skewed import BIN, Buffers, Reach
from attncost.view.statistics.subject import Subject
from attncost.view.statistics.sums import Sums

# To raise 2 to a power takes half the time of raising e to one, so differences of scores become
# powers of 2; scores themselves would lose digits by that.
POWER: Final = math.log2(math.e)
# 2 to this power is 0 in float64 too, and unlike -inf it may be multiplied with that.
_NOTHING: Final = -2e3


@final
class Step:
    """Takes piece by piece into the sums."""

    __slots__ = ("_buffers", "_ends", "_far", "_scores", "_shares", "_subject", "_sums")

    def __init__(
        self, subject: Subject, sums: Sums, buffers: Buffers, ends: Extents | None
    ) -> None:
        self._subject, self._sums, self._buffers = subject, sums, buffers
        self._scores, self._ends = Scores(subject), ends
        most = sums.by_distance.shape[1] + 2 * BIN
        # Of the type of the weights, with which they are multiplied.
        self._far = torch.arange(-most, most + 1, device=subject.q.device).abs_().to(subject.q)
        self._shares = subject.q.new_tensor(subject.gauges.quantiles)

    def enter(self, block: Block) -> None:
        """Begin with a block, whose pieces follow."""
        self._scores.enter(block)

    def take(self, piece: Piece) -> None:
        """Add a piece to the sums."""
        subject, sums, (_, _, rows, width) = self._subject, self._sums, piece.shape
        lanes = piece.lanes.stop - piece.lanes.start
        scores = self._buffers.scores(lanes, rows, width)
        self._scores.write(piece, scores)
        top = scores.amax(-1)
        spoilt = self._spoilt(piece, scores, top)
        # A row that reads nothing has no largest score.
        scores.sub_(top.clamp(min=torch.finfo(top.dtype).min)[..., None]).mul_(POWER)
        self._scores.nothing(piece, scores, _NOTHING)
        weights = self._buffers.weights(lanes, rows, width)
        torch.exp2(scores, out=weights)
        if spoilt is not None:
            scores.masked_fill_(spoilt, 0)
            weights.masked_fill_(spoilt, 0)
        surprise = scores.mul_(weights).sum(-1)
        distances = self._by_distance(piece)
        total = distances.total
        share = self._share(piece, top, total)
        limit = subject.gauges.negligible / share[..., None]
        # The scores are no longer needed, so their memory is.
        negligible = torch.lt(weights, limit, out=scores).mul_(weights).sum(-1)
        mean = distances.mean(self._far)
        first, padded = self._on_first(piece, weights), self._on_padded(piece, weights)
        found = torch.stack([top, total, surprise, mean, negligible, first, padded], -1)
        piece.of_queries(sums.of_queries).copy_(found)
        if subject.v is not None and sums.output is not None:
            v = piece.of_keys(subject.v, subject.group)
            multiplied(weights, v, piece.of_queries(sums.output))
        sums.add(piece, self._of(piece, share), weights, distances)

    def _spoilt(
        self, piece: Piece, scores: Float[Tensor, "l r w"], top: Float[Tensor, "l r"]
    ) -> Bool[Tensor, "l r 1"] | None:
        """Mark queries that read what is not finite; return those whose scores are not."""
        subject, sums = self._subject, self._sums
        odd = (subject.bad_queries, subject.bad_keys, subject.bad_values)
        if all(bad is None for bad in odd) and float(top.amax()) < math.inf:
            return None
        marks = piece.of_queries(sums.spoilt)
        marks |= ~(top < math.inf)
        if subject.bad_queries is not None:
            marks |= piece.of_queries(subject.bad_queries) & (top > -math.inf)
        for bad, spoilt in ((subject.bad_keys, sums.spoilt), (subject.bad_values, sums.lost)):
            if bad is not None:
                read = piece.of_keys(bad, subject.group)[:, None] & (scores > -math.inf)
                marked = piece.of_queries(spoilt)
                marked |= read.any(-1)
        return marks[..., None]

    def _share(
        self, piece: Piece, top: Float[Tensor, "l r"], total: Float[Tensor, "l r"]
    ) -> Float[Tensor, "l r"]:
        """Return the largest weight of each query, 0 if there is none."""
        sink = self._subject.options.sink
        if sink is not None:
            sinks = sink[piece.heads].to(top.dtype).repeat(piece.shape[0])
            total = torch.where(total > 0, total + (sinks[:, None] - top).exp(), 0)
        return total.reciprocal().masked_fill_(total == 0, 0)

    def _of(self, piece: Piece, share: Float[Tensor, "l r"]) -> Float[Tensor, "l 1 r"]:
        """Return what the weights of each query count, added up over queries."""
        if self._subject.counted is None:
            return share[:, None]
        counted = self._subject.counted[piece.sequences, piece.queries.start : piece.queries.stop]
        return (share * counted.repeat_interleave(piece.shape[1], 0))[:, None]

    def _on_first(self, piece: Piece, weights: Float[Tensor, "l r w"]) -> Float[Tensor, "l r"]:
        """Return the weight of the first keys of each query's document."""
        number, (_, heads, _, width) = self._subject.gauges.first, piece.shape
        if self._ends is None:
            return weights[..., : max(0, number - piece.keys.start)].sum(-1)
        first = self._ends.first[piece.sequences, piece.queries.start : piece.queries.stop, None]
        at = first - piece.keys.start + torch.arange(number, device=first.device)
        at = at.repeat_interleave(heads, 0)
        found = weights.gather(-1, at.clamp(0, width - 1))
        return found.masked_fill_((at < 0) | (at >= width), 0).sum(-1)

    def _on_padded(self, piece: Piece, weights: Float[Tensor, "l r w"]) -> Float[Tensor, "l r"]:
        """Return the weight of padded keys."""
        padded, (_, heads, _, _) = self._subject.padded, piece.shape
        if padded is None:
            return weights.new_zeros(weights.shape[:2])
        padded = padded[piece.sequences, piece.keys.start : piece.keys.stop]
        return torch.bmm(padded.repeat_interleave(heads, 0)[:, None], weights.mT)[:, 0]

    def _by_distance(self, piece: Piece) -> Distances:
        """Look at the weights by distance."""
        sums, (_, _, n, m) = self._sums, self._subject.sizes
        first, rows = piece.queries[0] + m - n, len(piece.queries)
        lanes, reach = piece.lanes.stop - piece.lanes.start, Reach.of(first, rows, piece.keys)
        seen = self._buffers.by_distance(lanes, rows, first - piece.keys[0], reach)
        distances = Distances(seen, reach)
        piece.of_queries(sums.near).copy_(distances.near)
        piece.of_queries(sums.quantiles).copy_(distances.quantiles(self._shares))
        piece.of_queries(sums.within).copy_(distances.within(self._subject.gauges.widths))
        return distances
