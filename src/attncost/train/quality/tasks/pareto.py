"""Which of several things are not beaten in both quality and cost.

One is beaten if another is at least as good and at most as dear, and better or cheaper. What ties
in both is not beaten.
"""

from collections.abc import Mapping


def front(points: Mapping[str, tuple[float, float]]) -> tuple[str, ...]:
    """Return the names of what is not beaten, in their order.

    >>> front({"full": (0.9, 2.0), "window": (0.5, 2.0), "linear": (0.7, 1.0)})
    ('full', 'linear')

    Args:
        points: A quality, of which more is better, and a cost of each.
    """
    return tuple(
        name
        for name, (quality, cost) in points.items()
        if not any(
            other >= quality and paid <= cost and (other, paid) != (quality, cost)
            for other, paid in points.values()
        )
    )
