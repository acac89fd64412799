"""The scores of a block: products, cap, bias and slopes; -inf where nothing is read."""

import math
from typing import Final, final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attncost.view.statistics.blocks import Block
from attncost.view.statistics.piece import Piece
from attncost.view.statistics.subject import Subject

_MOST_KEPT: Final = 4


@final
class Scores:
    """Writes scores, and remembers what a rule said where blocks are alike."""

    __slots__ = ("_alike", "_block", "_ruled", "_subject")

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._ruled: list[tuple[range, Tensor]] = []
        self._alike: dict[tuple[int, int, int], Tensor] = {}

    def enter(self, block: Block) -> None:
        """Ask once for all pieces of a block what the rule allows."""
        self._block = block
        self._ruled = [(keys, self._allowed(block.queries, keys)) for keys in block.ruled]

    def write(self, piece: Piece, scores: Float[Tensor, "l r w"]) -> None:
        """Overwrite `scores` with those of a piece of the block that was entered."""
        subject, options = self._subject, self._subject.options
        q, k = piece.of_queries(subject.q), piece.of_keys(subject.k, subject.group)
        multiplied(q, k.mT, scores, subject.scale)
        if options.softcap is not None:
            scores.div_(options.softcap).tanh_().mul_(options.softcap)
        if subject.plain:
            self._hide(piece.keys, scores)
            return
        each = scores.view(piece.shape)
        if options.bias is not None:
            each.add_(self._bias(options.bias, piece))
        if options.alibi is not None:
            slopes = options.alibi[piece.heads, None, None].to(scores.dtype)
            query, key = self._places(piece.queries, piece.keys)
            each.addcmul_((query - key).abs().to(scores.dtype), slopes, value=-1)
        self._hide(piece.keys, scores)
        self._hide_in_sequences(piece, each)

    def nothing(self, piece: Piece, scores: Float[Tensor, "l r w"], least: float) -> None:
        """Let no score of what is not read be less than `least`."""
        if not self._subject.plain:
            scores.clamp_(min=least)
            return
        start, stop = piece.keys.start, piece.keys.stop
        for keys in (*self._block.hidden, *self._block.ruled):
            scores[..., max(keys.start, start) - start : min(keys.stop, stop) - start].clamp_(
                min=least
            )

    def _bias(self, bias: Float[Tensor, "_ _ _ _"], piece: Piece) -> Tensor:
        """Return what of a bias belongs to a piece; no number is infinity, which can be hidden."""
        some = _some(bias, piece)
        return some.nan_to_num(math.inf, math.inf, -math.inf) if self._subject.odd_bias else some

    def _hide(self, own: range, scores: Float[Tensor, "l r w"]) -> None:
        """Hide what the pattern does not read."""
        for keys in self._block.hidden:
            first, last = max(keys.start, own.start), min(keys.stop, own.stop)
            scores[..., first - own.start : max(first, last) - own.start] = -math.inf
        for keys, mask in self._ruled:
            first, last = max(keys.start, own.start), min(keys.stop, own.stop)
            if first < last:
                here = mask[:, first - keys.start : last - keys.start]
                _bounded(scores[..., first - own.start : last - own.start], here)

    def _hide_in_sequences(self, piece: Piece, scores: Float[Tensor, "s t r w"]) -> None:
        options, start, stop = self._subject.options, piece.keys.start, piece.keys.stop
        if options.key_mask is not None:
            seen = options.key_mask[piece.sequences, None, None, start:stop]
            _bounded(scores, _bound(seen, scores.dtype))
        if options.segments is not None:
            _, _, n, m = self._subject.sizes
            segments, more = options.segments[piece.sequences], max(n, m)
            rows = slice(piece.queries.start + more - n, piece.queries.stop + more - n)
            of_key = segments[:, None, None, start + more - m : stop + more - m]
            same = segments[:, None, rows, None] == of_key
            _bounded(scores, _bound(same, scores.dtype))

    def _allowed(self, queries: range, keys: range) -> Float[Tensor, "r w"]:
        alike = (len(queries), len(keys), keys.start - queries.start)
        if alike in self._alike:
            return self._alike[alike]
        query, key = self._places(queries, keys)
        reads = self._subject.pattern.allowed(query, key).expand(len(queries), len(keys))
        mask = _bound(reads, self._subject.q.dtype)
        if self._subject.pattern.relative:
            if len(self._alike) >= _MOST_KEPT:
                self._alike.clear()
            self._alike[alike] = mask
        return mask

    def _places(self, queries: range, keys: range) -> tuple[Int[Tensor, "r 1"], Int[Tensor, "w"]]:
        """Return where they stand; the last query stands at the last key."""
        _, _, n, m = self._subject.sizes
        device = self._subject.q.device
        query = torch.arange(queries.start, queries.stop, device=device) + (m - n)
        return query[:, None], torch.arange(keys.start, keys.stop, device=device)


def multiplied(
    a: Float[Tensor, "l x y"],
    b: Float[Tensor, "l y z"],
    out: Float[Tensor, "l x z"],
    factor: float = 1.0,
) -> None:
    """Write products; those of single matrices are faster on their own than in a batch of one."""
    if len(a) == 1:
        out[0].addmm_(a[0], b[0], beta=0, alpha=factor)
    else:
        out.baddbmm_(a, b, beta=0, alpha=factor)


def _bound(reads: Bool[Tensor, "*s"], dtype: torch.dtype) -> Float[Tensor, "*s"]:
    """Return what a score may be at most: infinity, or -inf where nothing is read."""
    return reads.to(dtype).sub_(0.5).mul_(math.inf)


def _bounded(scores: Float[Tensor, "*s"], bound: Float[Tensor, "*#s"]) -> None:
    """Hide what may not be read; thirty times as fast as filling in under a boolean mask."""
    torch.minimum(scores, bound, out=scores)


def _some(bias: Float[Tensor, "_ _ _ _"], piece: Piece) -> Tensor:
    """Return what of a bias belongs to a piece."""
    rows, columns = (slice(part.start, part.stop) for part in (piece.queries, piece.keys))
    wanted = zip((piece.sequences, piece.heads, rows, columns), bias.shape, strict=True)
    return bias[tuple(slice(None) if size == 1 else part for part, size in wanted)]
