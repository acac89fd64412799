"""The few widths of rows at which a set of texts is cheapest, each padded to the least that fits.

    cost  sum over texts of  price(the least width that holds it)

The widths are lengths of texts: a row of another width could be narrower. So the sorted lengths are
cut into at most `count` groups, each as wide as its longest, by dynamic programming:

    best(groups, j) = texts(j) price(j) + min over i < j of  best(groups - 1, i) - texts(i) price(j)

with texts(j) no longer than the j-th length. The minimum is the least of lines with slope -texts(i)
at price(j); slopes fall and prices rise, so each line is met once: O(count * distinct lengths).
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

from attncost.batches.interface import check_dials
from attncost.batches.lengths import check_lengths
from attncost.core.errors import ShapeError


def best_widths(
    lengths: Sequence[int], *, count: int, price: Callable[[int], float]
) -> tuple[int, ...]:
    """Return the widths, increasing, at which rows of these texts cost least.

    Fewer than `count` if more gain nothing. For widths that are multiples of 8 pass lengths that
    are rounded up to them. A text without tokens counts as one of a token, as a row has a slot.

    >>> best_widths([5, 6, 7, 60, 64, 500], count=3, price=lambda n: n + n * n / 4608)
    (7, 64, 500)

    Args:
        lengths: Tokens of each of one or more texts, at least 0.
        count: The most widths.
        price: The cost of one row of a width, such as its FLOPs with their quadratic term; asked
            once for each length. It must not fall as a row gets wider.

    Raises:
        ShapeError: If a price falls, there is no text, or a number is too small.
    """
    check_dials(count=count)
    texts = Counter(check_lengths(lengths))
    if 0 in texts:
        texts[1] += texts.pop(0)
    widths = sorted(texts)
    if not widths:
        raise ShapeError("best_widths needs a text or more, got none: pass the length of each.")
    prices = [price(width) for width in widths]
    for (a, cheaper), (b, dearer) in pairwise(zip(widths, prices, strict=True)):
        if not cheaper <= dearer:
            raise ShapeError(
                f"price must not fall as a row gets wider, got {cheaper:g} for {a} tokens and "
                f"{dearer:g} for {b}."
            )
    upto = [0, *accumulate(texts[width] for width in widths)]
    return tuple(widths[end - 1] for end in _ends(upto, prices, count))


def _ends(upto: Sequence[int], prices: Sequence[float], count: int) -> list[int]:
    """Return where groups end: so many of the least lengths belong to them and those before."""
    best: list[float] = [texts * price for texts, price in zip(upto[1:], prices, strict=True)]
    best.insert(0, 0)
    before: list[list[int]] = []
    for _ in range(1, count):
        better, starts = _one_more(best, upto, prices)
        if not better[-1] < best[-1]:
            break
        best = better
        before.append(starts)
    ends = [len(prices)]
    for starts in reversed(before):
        ends.append(starts[ends[-1]])
    return [end for end in reversed(ends) if end]


def _one_more(
    best: Sequence[float], upto: Sequence[int], prices: Sequence[float]
) -> tuple[list[float], list[int]]:
    """Return what is least with one more group, and where that begins."""
    lines: deque[int] = deque()
    least: list[float] = [0]
    starts = [0]
    for end, price in enumerate(prices, 1):
        new = end - 1
        while len(lines) > 1 and _is_idle(lines[-1], (lines[-2], new), best, upto):
            lines.pop()
        lines.append(new)
        while len(lines) > 1 and (
            best[lines[1]] - upto[lines[1]] * price <= best[lines[0]] - upto[lines[0]] * price
        ):
            lines.popleft()
        start = lines[0]
        starts.append(start)
        least.append(best[start] + (upto[end] - upto[start]) * price)
    return least, starts


def _is_idle(
    line: int, others: tuple[int, int], best: Sequence[float], upto: Sequence[int]
) -> bool:
    """Say whether a line is nowhere below both of two others, of which one falls more."""
    left, right = others
    return (best[right] - best[left]) * (upto[line] - upto[left]) <= (best[line] - best[left]) * (
        upto[right] - upto[left]
    )
