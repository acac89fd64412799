"""Whether a pattern reads ahead, so that a token more changes what was returned before.

    time  O(n) if the pattern looks at the distance alone, else O(n block) for what lies about the
    diagonal, and O(n^2) for a rule that says nothing of where to look

A pattern does not depend on the length, so one answer serves many: the least length at which some
query reads a key after itself. It is looked for up to a power of two, and kept.
"""

from bisect import bisect_left, bisect_right
from functools import lru_cache
from operator import index
from typing import Final

import torch
from torch.utils._python_dispatch import _disable_current_modes

from attncost.core.errors import ShapeError
from attncost.kernels.handles import apart, whole
from attncost.patterns.interface import Pattern, Rule, cut

_BLOCK: Final = 128
_SOON: Final = 1024
_PAIRS_AT_ONCE: Final = 1 << 22


def reads_ahead(pattern: Pattern, length: int | None = None) -> bool:
    """Say whether any query of a sequence reads a key after itself.

    If so, decoding token by token is wrong: earlier outputs would change with a later token.

    Args:
        pattern: What is read.
        length: Tokens of the sequence. If left out, and in a graph of `torch.compile`, which
            serves all lengths, the first 1024 tokens decide, or all that the pattern covers.

    Raises:
        ShapeError: If the pattern says nothing of so long a sequence, as a mask does.

    >>> from attncost import Causal, Window
    >>> reads_ahead(Causal(), 1000), reads_ahead(Window(3, ahead=1), 1000)
    (False, True)
    """
    if torch.compiler.is_compiling():
        text, numbers = apart(pattern)
        # `index` makes a number of a symbol.
        return bool(_told(text, tuple(map(index, numbers))))
    if length is None:
        return _reads_ahead_soon(pattern)
    if length < 2:
        return False
    try:
        first = _first_ahead(pattern, 1 << (length - 1).bit_length())
    except ShapeError:
        # Some cover no longer sequence; one that is too short for this one says so.
        first = _first_ahead(pattern, length)
    return first < length


# By text and numbers, because the compiler of PyTorch 2.11 takes no pattern for a constant.
@torch._dynamo.assume_constant_result  # type: ignore[untyped-decorator]
def _told(text: str, numbers: tuple[int, ...]) -> bool:
    return _reads_ahead_soon(whole(text, numbers))


def _reads_ahead_soon(pattern: Pattern) -> bool:
    covered = _SOON
    if not _covers(pattern, covered):
        longer = bisect_right(range(2, _SOON), False, key=lambda n: not _covers(pattern, n))
        covered = 1 + longer
    return covered > 1 and _first_ahead(pattern, covered) < covered


def _covers(pattern: Pattern, n: int) -> bool:
    try:
        _first_ahead(pattern, n)
    except ShapeError:
        return False
    return True


@lru_cache(maxsize=256)
def _first_ahead(pattern: Pattern, n: int) -> int:
    """Return the first key that a query before it reads, `n` if there is none."""
    # Looking at a rule needs real numbers, also where tensors are fake.
    with _disable_current_modes():
        if pattern.relative:
            distance = torch.arange(1, n, device="cpu")
            read = pattern.allowed(torch.zeros_like(distance), distance)
            return int(distance[read].min()) if read.any() else n
        first = n
        for part in pattern.parts(n, n, _BLOCK):
            for queries, spans in part.tiles:
                for keys, full in spans:
                    # Other keys lie behind all queries of the tile, or are no earlier.
                    ahead = keys[bisect_right(keys, queries[0]) : bisect_left(keys, first)]
                    if ahead:
                        first = ahead[0] if full else _found(part.allowed, queries, ahead, first)
        return first


def _found(allowed: Rule, queries: range, keys: range, first: int) -> int:
    """Return the first of the keys that a query before it reads, or `first`."""
    columns = torch.tensor(keys, device="cpu")
    for rows in cut(queries, max(1, _PAIRS_AT_ONCE // len(keys))):
        column = torch.tensor(rows, device="cpu")[:, None]
        found = columns[(allowed(column, columns) & (columns > column)).any(0)]
        first = min([first, *found[:1].tolist()])
    return first
