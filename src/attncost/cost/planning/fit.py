"""How long a sequence fits, and how many: integer bisection, exact to the last token.

What a device holds never shrinks when a sequence grows or one more comes, so there is one greatest
size that fits, and the next one does not.
"""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

from attncost.core.notebook import as_html
from attncost.cost.configuration import Configuration
from attncost.cost.planning.needs import Need, needs, total
from attncost.cost.planning.situation import Situation

# Beyond any machine; what still fits there has no limit.
_GREATEST: Final = 1 << 40


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Fit:
    """The greatest size that fits.

    Attributes:
        greatest: Tokens, or sequences; 0 if none fits, None if memory sets no limit.
        parts: What a device then holds; of a single token or sequence if none fits.
        next: What it would hold of one more.
        limit: What stands in the way: a part of the memory, `positions`, `nothing`, or the end of
            the `search`, which goes up to 2^40.
    """

    _repr_html_ = as_html

    greatest: int | None
    parts: tuple[Need, ...]
    next: tuple[Need, ...]
    limit: str


def longest(model: Configuration, how: Situation, *, memory: int, batch: int = 1) -> Fit:
    """Return the longest sequences that fit on devices of a size.

    Args:
        model: The sizes.
        how: How it is run.
        memory: Bytes of one device.
        batch: Sequences at a time, on all devices together.
    """
    return _greatest(lambda n: needs(model, how, length=n, batch=batch), memory, most=model.longest)


def largest_batch(model: Configuration, how: Situation, *, memory: int, length: int) -> Fit:
    """Return the most sequences of a length that fit on devices of a size.

    Args:
        model: The sizes.
        how: How it is run.
        memory: Bytes of one device.
        length: Tokens of each.
    """
    return _greatest(lambda batch: needs(model, how, length=length, batch=batch), memory)


def _greatest(
    parts: Callable[[int], tuple[Need, ...]], memory: int, *, most: int | None = None
) -> Fit:
    top = _GREATEST if most is None else most
    found = bisected(lambda size: total(parts(size)) <= memory, top=top)
    here = parts(max(found, 1))
    if found == top and most is not None:
        return Fit(greatest=most, parts=here, next=(), limit="positions")
    if found == top:
        grows = total(here) > total(parts(top // 2))
        return Fit(
            greatest=top if grows else None,
            parts=here,
            next=(),
            limit="search" if grows else "nothing",
        )
    beyond = parts(found + 1)
    return Fit(greatest=found, parts=here, next=beyond, limit=_limit(here, beyond, found))


def bisected(fits: Callable[[int], bool], *, top: int) -> int:
    """Return the greatest size up to `top` that fits, 0 if none does.

    >>> bisected(lambda n: n * n <= 50, top=1000)
    7
    """
    return bisect_left(range(1, top + 1), x=True, key=lambda size: not fits(size))


def _limit(here: tuple[Need, ...], beyond: tuple[Need, ...], found: int) -> str:
    """Return the part to blame: the greatest; of those that grow, if anything fits at all."""
    before = {part.part: part.bytes for part in here} if found else {}
    grown = [part for part in beyond if part.bytes > before.get(part.part, 0)]
    return max(grown or beyond, key=lambda part: part.bytes).part
