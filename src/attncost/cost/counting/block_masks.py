"""How many pairs the block mask of a call of flex attention lets through.

A block mask lists blocks of queries and keys, full ones and others. A function `mask_mod` decides
in the others, and a `score_mod` may set a score to -inf anywhere, which hides its pair, too: what
it makes of a score of 0 is looked at, as in PyTorch's `create_mask`.

    time  O(pairs that a function decides),  memory  O(blocks)

Functions are asked again for each sequence and head that they tell apart. Beyond 2^28 pairs, some
seconds, they are not asked: then the pairs are an upper bound, and it is said why.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias, final

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.attention.flex_attention import create_mask, noop_mask
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves

from attncost.core.unseen import unseen
from attncost.cost.counting.apis.interface import Given

_MOST: Final = 1 << 28
_AT_ONCE: Final = 1 << 21
# The longest side of what is looked at in one piece.
_SIDE: Final = 512

_NO_BLOCKS: Final = "the blocks of a mask of flex attention are not known."
_NO_VALUES: Final = "what a function of flex attention hides is not known."
_TOO_MANY: Final = "a function of flex attention decides too many pairs to ask it for each."

# Takes numbers of a sequence, a head, a query and a key; a `score_mod` takes a score before them.
Keeps: TypeAlias = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
Changes: TypeAlias = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
# How many blocks of keys each block of queries has, and their numbers.
Listed: TypeAlias = tuple[Tensor, Tensor]
# Of pieces: sequence and head, first query and the one behind the last, and likewise of keys.
_Pieces: TypeAlias = Int[Tensor, "_ 6"]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class BlockMask:
    """What flex attention is told of a mask; axes of 1 serve all sequences or heads.

    Attributes:
        some: Blocks that are not full.
        full: Blocks that are, unless nobody knows any.
        side: Queries and keys of a block.
        sizes: Sequences, heads, queries and keys of the call.
        mask_mod: Decides which pairs of the first are read.
        score_mod: Changes a score in both.
    """

    some: Listed
    full: Listed | None
    side: tuple[int, int]
    sizes: tuple[int, int, int, int]
    mask_mod: Keeps
    score_mod: Changes


class Kept(NamedTuple):
    """Pairs that are kept and those in blocks that are listed, over all sequences and heads."""

    useful: int
    executed: int
    unknown: str | None = None


def pairs_kept(mask: BlockMask) -> Kept:
    """Count the pairs that the blocks and functions of a mask leave."""
    b, h, n, m = mask.sizes
    blocks = [mask.some, *([mask.full] if mask.full else [])]
    if any(unseen(x) for listed in blocks for x in listed):
        return Kept(b * h * n * m, b * h * n * m, _NO_BLOCKS)
    # Whoever counts operations, or makes them fake, shall not meet ours.
    with _disable_current_modes(), torch.no_grad():
        rules, unknown = _rules(mask)
        useful, executed = 0, 0
        for listed, deciding in zip(blocks, (rules, rules[-1:]), strict=False):
            asked = [rule for rule in deciding if rule is not None]
            left, every, reason = _left(mask, listed, asked)
            useful, executed, unknown = useful + left, executed + every, unknown or reason
        return Kept(useful, executed, unknown)


class _Rule(NamedTuple):
    """A function that keeps pairs or not, and whether it tells sequences and heads apart."""

    keeps: Keeps
    apart: tuple[bool, bool]


def _rules(mask: BlockMask) -> tuple[tuple[_Rule | None, _Rule | None], str | None]:
    """Return what `mask_mod` and `score_mod` hide, None if nothing; and why that is unknown."""
    device = mask.some[0].device
    zero = torch.zeros((), device=device)
    changes = []

    def finite(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        score = mask.score_mod(zero, b, h, i, j)
        changes.append(score is not zero)
        return ~score.isneginf()

    by_mask = None if mask.mask_mod is noop_mask else _watched(mask.mask_mod, device)
    by_score = _watched(finite, device)
    unseen = [one for one in (by_mask, by_score) if isinstance(one, str)]
    return (
        None if isinstance(by_mask, str) else by_mask,
        by_score if isinstance(by_score, _Rule) and any(changes) else None,
    ), next(iter(unseen), None)


def _watched(keeps: Keeps, device: torch.device) -> _Rule | str:
    """Ask a function for one pair, to see what it looks at; or return why it cannot be asked."""
    watch = _Watch(keeps)
    try:
        create_mask(watch, 1, 1, 1, 1, device)
    except (AssertionError, RuntimeError):
        # As PyTorch says of a fake tensor among real ones; the call itself says all else.
        if watch.unseen:
            return _NO_VALUES
        raise
    return _NO_VALUES if watch.unseen else _Rule(keeps, (watch.used[0], watch.used[1]))


@final
class _Watch(TorchFunctionMode):
    """Asks a function, and notes whether it uses the first two numbers and unknown ones."""

    def __init__(self, keeps: Keeps) -> None:
        super().__init__()
        self.keeps = keeps
        self.numbers: tuple[Tensor, ...] = ()
        self.used = [False, False]
        self.unseen = False

    def __call__(self, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        self.numbers = b, h
        with self:
            return self.keeps(b, h, i, j)

    def __torch_function__(
        self, func: Given, types: Given, args: Given = (), kwargs: Given = None
    ) -> Given:
        for x in tree_leaves((args, kwargs)):
            self.used = [
                used or x is one for used, one in zip(self.used, self.numbers, strict=True)
            ]
            self.unseen |= isinstance(x, Tensor) and _is_empty(x)
        return func(*args, **(kwargs or {}))


def _is_empty(x: Tensor) -> bool:
    return x.is_meta or type(x).__torch_dispatch__ is not Tensor.__torch_dispatch__


def _left(mask: BlockMask, listed: Listed, rules: list[_Rule]) -> tuple[int, int, str | None]:
    """Return the pairs that rules leave of blocks, all pairs of them, and why fewer may be left."""
    pieces, axes, unknown = _pieces(mask, listed), listed[0].shape[:2], None
    every = _area(pieces) * (mask.sizes[0] // axes[0]) * (mask.sizes[1] // axes[1])
    while rules:
        spread, times = pieces, 1
        for axis, size in enumerate(mask.sizes[:2]):
            if size > axes[axis] and any(rule.apart[axis] for rule in rules):
                spread = _repeated(spread, axis, size)
            else:
                times *= size // axes[axis]
        if _area(spread) <= _MOST:
            return times * _asked(mask, spread, rules), every, unknown
        rules, unknown = rules[:-1], _TOO_MANY
    return every, every, unknown


def _pieces(mask: BlockMask, listed: Listed) -> _Pieces:
    """Return the blocks that are listed, cut at the end of the sequences."""
    (numbers, columns), (_, _, n, m) = listed, mask.sizes
    there = torch.arange(columns.shape[-1], device=columns.device) < numbers[..., None]
    sequence, head, row, _ = there.nonzero().unbind(1)
    query, key = row * mask.side[0], columns[there].long() * mask.side[1]
    ends = (query + mask.side[0]).clamp(max=n), (key + mask.side[1]).clamp(max=m)
    found = torch.stack([sequence, head, query, ends[0], key, ends[1]], 1)
    return found[(query < n) & (key < m)]


def _area(pieces: _Pieces) -> int:
    _, _, query, query_end, key, key_end = pieces.unbind(1)
    return int(((query_end - query) * (key_end - key)).sum())


def _repeated(pieces: _Pieces, axis: int, size: int) -> _Pieces:
    """Return the pieces of the first sequence or head for each."""
    repeated = pieces.repeat(size, 1)
    repeated[:, axis] = torch.arange(size, device=pieces.device).repeat_interleave(len(pieces))
    return repeated


def _asked(mask: BlockMask, pieces: _Pieces, rules: list[_Rule]) -> int:
    """Ask rules for every pair of the pieces."""
    pieces = _cut(_cut(pieces, 2), 4)
    if not len(pieces):
        return 0
    high, wide = (int((pieces[:, at + 1] - pieces[:, at]).max()) for at in (2, 4))
    total = 0
    for some in pieces.split(max(1, _AT_ONCE // (high * wide))):
        kept = create_mask(
            _Decision(some, mask.sizes, rules), len(some), 1, high, wide, pieces.device
        )
        total += int(kept.sum())
    return total


def _cut(pieces: _Pieces, at: int) -> _Pieces:
    """Cut pieces whose side, from column `at` to the next, is too long."""
    parts = (pieces[:, at + 1] - pieces[:, at] + _SIDE - 1) // _SIDE
    number = torch.arange(int(parts.sum()), device=pieces.device)
    number -= (parts.cumsum(0) - parts).repeat_interleave(parts)
    pieces = pieces.repeat_interleave(parts, 0)
    pieces[:, at] += number * _SIDE
    pieces[:, at + 1] = torch.minimum(pieces[:, at + 1], pieces[:, at] + _SIDE)
    return pieces


@final
@dataclass(frozen=True, slots=True)
class _Decision:
    """Keeps the pairs of pieces that all rules do, by the number of a piece."""

    pieces: _Pieces
    sizes: tuple[int, int, int, int]
    rules: list[_Rule]

    def __call__(self, piece: Tensor, _: Tensor, i: Tensor, j: Tensor) -> Tensor:
        sequence, head, query, query_end, key, key_end = (x[piece] for x in self.pieces.unbind(1))
        i, j = i + query, j + key
        kept = (i < query_end) & (j < key_end)
        # What is past the end is not kept, but must not be looked up either.
        i, j = i.clamp(max=self.sizes[2] - 1), j.clamp(max=self.sizes[3] - 1)
        for rule in self.rules:
            kept = kept & rule.keeps(sequence, head, i, j)
        return kept
