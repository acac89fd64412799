"""Which steps of a call tell how much memory it takes: the others only repeat them.

A step finds the tensors of the one before still there, until it puts its own in their place. Where
steps of one kind grow, none takes more than the last, after the last but one; where they shrink,
none takes more than the second, after the first. Those two, and the ends, are enough.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

from attncost.kernels.lanes import Even, Lanes
from attncost.kernels.plan import Step

# What decides how a step is computed, and what only decides how large its tensors are.
_Sizes: TypeAlias = tuple[object, tuple[int, ...]]


def telling(steps: Sequence[Step]) -> list[Step]:
    """Return steps whose worst moment is that of all of them, in order."""
    growing = _ends(list(steps))
    return _ends(growing[::-1])[::-1]


def _ends(steps: list[Step]) -> list[Step]:
    """Leave out, where steps grow, all but the first and the last two."""
    grows = [_fits(one, other) for one, other in pairwise(map(_sizes, steps))]
    return [
        step
        for at, step in enumerate(steps)
        if not (0 < at < len(steps) - 2 and all(grows[at - 1 : at + 2]))
    ]


def _fits(one: _Sizes, other: _Sizes) -> bool:
    """Say whether a step is of the kind of another one and nowhere larger."""
    return one[0] == other[0] and all(a <= b for a, b in zip(one[1], other[1], strict=True))


def _sizes(step: Step) -> _Sizes:
    queries, keys = step.queries, step.keys
    kind = (step.allowed, step.alike, step.fresh, _lie(queries), _lie(keys))
    return kind, (queries.lanes, queries.length, keys.lanes, keys.length)


def _lie(lanes: Lanes) -> tuple[int, int] | None:
    return (lanes.hop, lanes.step) if isinstance(lanes, Even) else None
