"""A few of many texts, as long and as short as all of them: what a trial of minutes can afford."""

from collections.abc import Sequence


def some_texts(lengths: Sequence[int], *, tokens: int) -> tuple[int, ...]:
    """Return the numbers of some texts, in the order in which they come.

    All texts are sorted by length and cut into so many parts of equal number as there will be
    texts; the middle one of each part is taken, of two the longer and the shorter by turns. So
    every share of the lengths is that of all texts, and a single text that is much longer than all
    others is not taken where it stands for less than a part.

    >>> some_texts([9, 1, 5, 7, 3, 8], tokens=15)
    (0, 2, 4)
    >>> some_texts([9, 1, 5], tokens=100)
    (0, 1, 2)

    Args:
        lengths: Tokens of each text.
        tokens: About how many those that are taken have together; at least one text is.
    """
    total, count = sum(lengths), len(lengths)
    if tokens >= total:
        return tuple(range(count))
    taken = max(1, round(count * tokens / total))
    ordered = sorted(range(count), key=lambda number: lengths[number])
    return tuple(
        sorted(ordered[((2 * i + 1) * count - i % 2) // (2 * taken)] for i in range(taken))
    )
