"""What a mask function of transformers means, without asking it about every pair.

Such a function is arithmetic on four indices: sequence, head, query, key. Called with symbols in
their place it tells its limits, in the same words as our patterns. What is no such arithmetic, such
as a function that somebody added, stays unread: the caller then writes the mask out.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, final

import torch
from torch import Tensor

from attncost.kernels.documents import unknown
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window

MaskFunction: TypeAlias = Callable[..., Any]

# What a function raises that does with an index what only a tensor can.
_NO_ARITHMETIC: Final = (
    TypeError,
    AttributeError,
    ValueError,
    LookupError,
    RuntimeError,
    AssertionError,
)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """What a mask function lets a query read.

    Attributes:
        pattern: By position.
        documents: A number for each token; tokens with different numbers never meet.
    """

    pattern: Pattern
    documents: Tensor | None = None


def read(function: MaskFunction) -> Rule | None:
    """Return the rule of a mask function, or None if it is more than limits and documents."""
    sequence, head, query, key = (_Index(name) for name in ("sequence", "head", "query", "key"))
    try:
        truth = function(sequence, head, query, key)
    except _NO_ARITHMETIC:
        return None
    if not isinstance(truth, _Truth) or len(truth.documents) > 1:
        return None
    documents = truth.documents[0] if truth.documents else None
    if not (_numbered(documents) and _in_step(truth.positions, documents)):
        return None
    pattern = _pattern(truth)
    return None if pattern is None else Rule(pattern, documents)


def _numbered(documents: Tensor | None) -> bool:
    """Say whether documents are told by whole numbers, one for each token."""
    if documents is None:
        return True
    kind = documents.dtype
    whole = not (kind.is_floating_point or kind.is_complex or kind == torch.bool)
    return whole and documents.ndim == 2 and unknown(documents) is None


def _in_step(positions: tuple[Tensor, ...], documents: Tensor | None) -> bool:
    """Say whether positions count the tokens of each document, which is one run of them.

    Only then are their distances those of the tokens.
    """
    if not positions:
        return True
    if documents is None or bool((documents.diff(dim=1) < 0).any()):
        return False
    same = documents.diff(dim=1) == 0
    return all(
        table.shape == documents.shape and bool((table.diff(dim=1)[same] == 1).all())
        for table in positions
    )


def _pattern(truth: "_Truth") -> Pattern | None:
    before, ahead = truth.before, truth.ahead
    if before is None:
        return Full() if ahead is None else Causal() if ahead == 0 else None
    if ahead is None or before < 0 or ahead < 0:
        return None
    return Window(before + 1 + ahead, ahead=ahead)


class _Symbol:
    """What stands for numbers; Python must not take it for a value of its own."""

    __slots__ = ()

    @final
    def __bool__(self) -> bool:
        raise TypeError("a symbol has no value yet.")

    @final
    def __eq__(self, other: object) -> Any:  # noqa: ANN401 -- a condition, not a bool
        return _same(self, other)

    @final
    def __ne__(self, other: object) -> Any:  # noqa: ANN401 -- a condition, not a bool
        raise TypeError("to differ is no limit.")

    __hash__ = None  # type: ignore[assignment]


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Truth(_Symbol):
    """A condition on a pair: the distance lies within limits, and the documents are the same.

    Attributes:
        before: How far behind the query a key may lie; None without a limit.
        ahead: How far ahead of it.
        documents: Tables that must hold one number for query and key.
        positions: Tables whose numbers the limits hold for, in place of the tokens themselves.
    """

    before: int | None = None
    ahead: int | None = None
    documents: tuple[Tensor, ...] = ()
    positions: tuple[Tensor, ...] = ()
    device: None = None  # asked for, and of no matter

    def __and__(self, other: object) -> "_Truth":
        if not isinstance(other, _Truth):
            return NotImplemented
        return _Truth(
            nearer(self.before, other.before),
            nearer(self.ahead, other.ahead),
            self.documents + other.documents,
            self.positions + other.positions,
        )

    def to(self, _device: object) -> "_Truth":
        """Stay, wherever it should go."""
        return self


def nearer(a: int | None, b: int | None) -> int | None:
    """Return the stricter of two limits, None being none."""
    if a is None or b is None:
        return b if a is None else a
    return min(a, b)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Index(_Symbol):
    """A symbol for one index, or for what a table holds at it.

    Attributes:
        name: Of which index.
        shift: What was added to it.
        table: Where it was looked up, if it was.
    """

    name: str
    shift: int = 0
    table: Tensor | None = None

    def new_ones(self, *_shape: object, **_options: object) -> _Truth:
        """Return a condition that always holds."""
        return _Truth()

    def __add__(self, other: object) -> "_Index":
        return replace(self, shift=self.shift + other) if isinstance(other, int) else NotImplemented

    def __sub__(self, other: object) -> "_Index | _Distance":
        if isinstance(other, int):
            return replace(self, shift=self.shift - other)
        if isinstance(other, _Index) and _apart(self, other) and self.shift == other.shift:
            return _Distance(self.table)
        return NotImplemented

    def __le__(self, other: object) -> _Truth:
        return _ordered(self, other, 0)

    def __lt__(self, other: object) -> _Truth:
        return _ordered(self, other, 1)

    def __ge__(self, other: object) -> _Truth:
        if isinstance(other, int) and self.table is None and other <= self.shift:
            return _Truth()  # no index is below 0
        return _ordered(other, self, 0)

    def __gt__(self, other: object) -> _Truth:
        return _ordered(other, self, 1)

    @classmethod
    def __torch_function__(
        cls,
        function: object,
        _types: object,
        args: tuple[Any, ...] = (),
        _kwargs: dict[str, Any] | None = None,
    ) -> Any:  # noqa: ANN401 -- what torch's protocol says
        """Look up `table[sequence, index]`."""
        if function is not Tensor.__getitem__:
            return NotImplemented
        table, (sequence, at) = args
        if sequence.name != "sequence" or at.table is not None or at.shift:
            return NotImplemented
        return replace(at, table=table)


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Distance(_Symbol):
    """How far a query and a key lie apart.

    Attributes:
        table: Where both were looked up, if they were.
        either_side: Whether it is the same on both sides of the query, as its sign is lost.
    """

    table: Tensor | None
    either_side: bool = False

    def __abs__(self) -> "_Distance":
        return replace(self, either_side=True)

    def __le__(self, most: object) -> _Truth:
        if not self.either_side or not isinstance(most, int):
            return NotImplemented
        return _Truth(most, most, positions=_tables(self.table))


def _apart(a: _Index, b: _Index) -> bool:
    """Say whether one is a query and one a key, looked up in one table or in none."""
    return {a.name, b.name} == {"query", "key"} and a.table is b.table


def _ordered(a: object, b: object, least: int) -> _Truth:
    """Return the condition `a + least <= b`."""
    if not (isinstance(a, _Index) and isinstance(b, _Index) and _apart(a, b)):
        raise TypeError("only a query and a key can be compared.")
    room, positions = b.shift - a.shift - least, _tables(a.table)
    if a.name == "key":
        return _Truth(ahead=room, positions=positions)
    return _Truth(before=room, positions=positions)


def _same(a: object, b: object) -> _Truth:
    """Return the condition `a == b`."""
    if not (isinstance(a, _Index) and isinstance(b, _Index) and _apart(a, b)):
        raise TypeError("only a query and a key can be compared.")
    if a.table is None or a.shift != b.shift:
        raise TypeError("only what a table says of query and key is the same for many pairs.")
    return _Truth(documents=(a.table,))


def _tables(table: Tensor | None) -> tuple[Tensor, ...]:
    return () if table is None else (table,)
