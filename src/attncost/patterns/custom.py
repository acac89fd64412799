"""Custom attention: the pairs that a function allows, or those that a boolean mask marks.

    pairs(n, m), counted one by one          time  O(n m) to look once, then O(pairs d)

Use it when no pattern here says what you mean, or to bring a `mask_mod` of flex attention. Not for
what `&`, `|` and `~` make of other patterns: they know where to look, while this has to evaluate
the rule for every pair once, a few rows at a time, before kernels know which tiles are empty.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from threading import Lock
from typing import ClassVar, Final, final

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attncost.core.counts import Count, ceil_div, counted
from attncost.core.errors import ShapeError
from attncost.patterns.interface import MaskMod, Part, Pattern, Rule, Span, Tile, cut

_PAIRS_AT_ONCE: Final = 1 << 22
_RULES: Final[list[Rule]] = []
_NUMBERS: Final[dict[Rule, int]] = {}
_LOCK: Final = Lock()


@final
@dataclass(frozen=True, slots=True, repr=False)
class Custom(Pattern):
    """What a rule allows.

    Two are equal if their rules are, which for functions means that they are the same function.

    Attributes:
        rule: Takes positions of queries and keys, whole-number tensors that broadcast, and returns
            a boolean tensor; the last query stands at the last key. It must be hashable, and
            elementwise: tensor operations and no `if`, `and`, `or`.
        number: Stands for the rule in graphs, so it is kept as long as the process lives.
    """

    source: ClassVar[str] = "Dong et al. 2024, arXiv:2412.05496 (flex attention's mask_mod)"

    rule: Callable[[Tensor, Tensor], Tensor]
    number: int = field(init=False, compare=False)

    @classmethod
    def numbered(cls, number: int) -> "Custom":
        """Return the pattern with this `number`, which this process has made before."""
        return cls(_RULES[number])

    def __post_init__(self) -> None:
        if not callable(self.rule):
            raise ShapeError(
                f"rule must be a function of query and key, got a {type(self.rule).__name__}; "
                "for a boolean mask use Custom.of(mask)."
            )
        object.__setattr__(self, "number", _number(self.rule))

    def __repr__(self) -> str:
        """Return how it was made, with the name of a function and not its place in memory."""
        rule = self.rule
        return f"Custom{rule}" if isinstance(rule, _Flex | _Mask) else f"Custom({_name(rule)})"

    @classmethod
    def from_flex(cls, mask_mod: MaskMod) -> "Custom":
        """Return the pattern of a `mask_mod(b, h, q_idx, kv_idx)` of flex attention.

        It is asked with b = h = 0: a pattern is the same for all sequences and heads, and whether
        a `mask_mod` is cannot be seen from outside. Its `q_idx` becomes the position of a query.
        With as many queries as keys that is what flex passes; with fewer, as in decoding, flex
        numbers queries from 0, while this passes where they stand, so leave out any offset.
        """
        return cls(_Flex(mask_mod))

    @classmethod
    def of(cls, mask: Tensor) -> "Custom":
        """Return the pattern of a boolean mask (n, m), True where a query reads.

        Its last query stands at its last key. It holds for n queries and m keys, and for those
        among them if there are fewer; positions outside of it are refused.

        Raises:
            ShapeError: If it has other axes or is not boolean.
        """
        if mask.dim() != 2 or mask.dtype != torch.bool:
            raise ShapeError(
                "mask must be boolean with the axes (length, kv_length), "
                f"got {mask.dtype} of shape {tuple(mask.shape)}."
            )
        n, m = mask.shape
        bits = np.packbits(mask.detach().cpu().numpy(), bitorder="little")
        # One byte more than is read, as torch refuses an empty buffer.
        return cls(_Mask(n, m, bits.tobytes() + b"\0"))

    @classmethod
    def examples(cls) -> tuple["Custom", ...]:
        """Return rules that read a prefix, every third key, and nothing; masks fit one length."""
        return cls(_prefix), cls.from_flex(_every_third), cls(_nothing)

    @property
    def relative(self) -> bool:
        """Assume nothing of a rule."""
        return False

    def allowed(self, query: Int[Tensor, "*#s"], key: Int[Tensor, "*#s"]) -> Bool[Tensor, "*#s"]:
        """Ask the rule.

        Raises:
            ShapeError: If it does not answer with one truth value a pair.
        """
        read: object = self.rule(query, key)
        shape = torch.broadcast_shapes(query.shape, key.shape)
        if not isinstance(read, Tensor) or read.dtype != torch.bool:
            kind = read.dtype if isinstance(read, Tensor) else type(read).__name__
            raise ShapeError(f"rule must return a boolean tensor, got {kind}.")
        if not _expands(read.shape, shape):
            raise ShapeError(
                f"rule must return one value a pair, so shape {tuple(shape)}, "
                f"got {tuple(read.shape)}."
            )
        return read.expand(shape)

    def pairs(self, n: Count, m: Count) -> Count:
        """Count them."""
        return counted(self, n, m)

    def parts(self, n: int, m: int, block: int) -> tuple[Part, ...]:
        """Return one part, found by looking: empty tiles dropped, full ones marked."""
        blocks = cut(range(m - n, m), block)
        looked = (
            Tile(queries, tuple(_spans(self.allowed, queries, m, block))) for queries in blocks
        )
        return (Part(tuple(tile for tile in looked if tile.spans), self.allowed, False),)


def _spans(rule: Rule, queries: range, m: int, block: int) -> Iterator[Span]:
    """Evaluate the rule a few rows at a time, and merge neighbouring blocks of one kind."""
    blocks, key = ceil_div(m, block), torch.arange(m, device="cpu")
    some = torch.zeros(blocks * block, dtype=torch.bool, device="cpu")
    every = torch.ones_like(some)
    for rows in cut(queries, max(1, _PAIRS_AT_ONCE // max(1, m))):
        inside = rule(torch.tensor(rows, device="cpu")[:, None], key)
        # A hundred times as fast as `any` and `all`, which do not vectorise over booleans.
        some[:m] |= inside.byte().amax(0).bool()
        every[:m] &= inside.byte().amin(0).bool()
    kinds = some.view(blocks, block).any(1).int() + every.view(blocks, block).all(1)
    for kind, run in groupby(enumerate(kinds.tolist()), key=lambda one: one[1]):
        first, *others = (at for at, _ in run)
        if kind:
            yield Span(range(first * block, min((first + len(others) + 1) * block, m)), kind == 2)


def _expands(shape: tuple[int, ...], full: tuple[int, ...]) -> bool:
    padded = (1,) * (len(full) - len(shape)) + tuple(shape)
    return len(padded) == len(full) and all(
        size in (1, whole) for size, whole in zip(padded, full, strict=True)
    )


def _number(rule: Rule) -> int:
    with _LOCK:
        if rule not in _NUMBERS:
            _RULES.append(rule)
            _NUMBERS[rule] = len(_RULES) - 1
        return _NUMBERS[rule]


def _name(function: object) -> str:
    return getattr(function, "__qualname__", None) or str(function)


@final
@dataclass(frozen=True, slots=True, repr=False)
class _Flex:
    """The rule of a `mask_mod`."""

    mask_mod: MaskMod

    def __repr__(self) -> str:
        return f".from_flex({_name(self.mask_mod)})"

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        zero = query.new_zeros(())
        return self.mask_mod(zero, zero, query, key)


@final
@dataclass(frozen=True, slots=True, repr=False)
class _Mask:
    """The rule of a mask, packed into bytes so that it can be compared and hashed."""

    n: int
    m: int
    bits: bytes

    def __repr__(self) -> str:
        return f".of(mask of {self.n} x {self.m})"

    def __call__(self, query: Tensor, key: Tensor) -> Tensor:
        row = query.long() + (self.n - self.m)
        if _any((row < 0) | (row >= self.n)) or _any(key >= self.m):
            raise ShapeError(
                f"this pattern is a mask of {self.n} queries and {self.m} keys and says nothing "
                "of positions outside of it: make one of the length that you need."
            )
        packed = torch.frombuffer(bytearray(self.bits), dtype=torch.uint8)
        at = row * self.m + key
        return (packed.to(query.device)[at >> 3] >> (at & 7)) & 1 == 1


def _any(outside: Tensor) -> bool:
    """Say whether any is true, as far as values can be seen: not while compiling or under vmap."""
    if torch.compiler.is_compiling():
        return False
    try:
        return bool(outside.any())
    except RuntimeError:
        return False


def _prefix(query: Tensor, key: Tensor) -> Tensor:
    return (key <= query) | (key < 10)


def _every_third(batch: Tensor, head: Tensor, query: Tensor, key: Tensor) -> Tensor:
    return ((query - key) % 3 == batch + head) & (key <= query)


def _nothing(query: Tensor, key: Tensor) -> Tensor:
    return query != query + 0 * key
