"""What a profiler saw, one span an operator or range, and how spans lie in one another.

    own time = time of a span - time of the spans directly in it

Spans nest within one thread. One that ends after what it lies in, by a rounding of the clock, ends
with it, so that own times are never negative and add up to the time of the outermost spans.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, final

# How our own ranges are called; what follows is the name of the module.
MODULE: Final = "attncost module "
ROUND: Final = "attncost round"
BACKWARD: Final = "attncost backward"
OURS: Final = (MODULE, ROUND, BACKWARD)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """Something that began and ended in one thread; times are in nanoseconds.

    Attributes:
        name: Of the operator, or of the range.
        thread: Where it ran, by the profiler's number.
        start: When it began.
        end: When it ended.
        sequence: The number of the next node of autograd when it began; of a node that runs
            backward, its own; -1 without one.
        forward_thread: Of a node that runs backward, the thread that made it.
        shapes: Of its inputs, in words; empty if they were not recorded.
        kernels: Time on a GPU of what it started there itself.
    """

    name: str
    thread: int
    start: int
    end: int
    sequence: int = -1
    forward_thread: int = 0
    shapes: str = ""
    kernels: int = 0


@final
@dataclass(frozen=True, slots=True)
class Nested:
    """A span in its place.

    Attributes:
        span: The span, cut where what it lies in ends.
        parent: Which one that is, by its number; -1 for none.
        own: Nanoseconds of its time that lie in none of its children.
    """

    span: Span
    parent: int
    own: int


def nest(spans: Iterable[Span]) -> tuple[Nested, ...]:
    """Return spans in the order in which they began, parents before their children.

    >>> [(one.parent, one.own) for one in nest([
    ...     Span(name="a", thread=1, start=0, end=10),
    ...     Span(name="b", thread=1, start=2, end=5),
    ...     Span(name="c", thread=2, start=3, end=4),
    ... ])]
    [(-1, 7), (0, 3), (-1, 1)]
    """
    ordered = sorted(spans, key=lambda span: (span.start, -span.end))
    cut: list[Span] = []
    parents: list[int] = []
    own: list[int] = []
    running: defaultdict[int, list[int]] = defaultdict(list)
    for number, span in enumerate(ordered):
        above = running[span.thread]
        while above and cut[above[-1]].end <= span.start:
            above.pop()
        parent = above[-1] if above else -1
        if parent >= 0:
            if span.end > cut[parent].end:
                span = replace(span, end=cut[parent].end)  # noqa: PLW2901 -- the same, cut
            own[parent] -= span.end - span.start
        above.append(number)
        cut.append(span)
        parents.append(parent)
        own.append(span.end - span.start)
    return tuple(map(Nested, cut, parents, own))
