"""Which module each span works for, forward and backward.

A node of autograd has a number, drawn by the thread whose forward pass made it. An operator carries
the number that comes next when it begins, so the last operator that began with a number not above
that of a node is the one whose gradient the node computes; its modules are the node's. The sum that
adds up the gradient of a parameter has no number: autograd runs it right after the last node that
gave something to it, and it belongs where that one does. A node made between two operators, by
code that calls none, counts for the operator before it.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, final

from attncost.measure.attribution.kinds import kind_of
from attncost.measure.attribution.spans import BACKWARD, MODULE, ROUND, Nested, Span

# What runs a node, and is named for it.
NODE: Final = "autograd::engine::evaluate_function: "
_BEFORE_ALL: Final = -1

OUTSIDE: Final = "outside of every module"
ENGINE: Final = "in the backward pass itself"
ELSEWHERE: Final = "in other threads"


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Where the time of a span belongs.

    Attributes:
        modules: Names from the outermost module to the innermost; empty if it works for none.
        backward: Whether it lies in the backward pass.
        kind: What kind of work it is; empty if its name does not tell.
        reason: Why it works for no module, if it does not.
    """

    modules: tuple[str, ...] = ()
    backward: bool = False
    kind: str = ""
    reason: str = ELSEWHERE


def places(nested: Sequence[Nested]) -> list[Place]:
    """Return the place of each span."""
    made = _Made()
    found: list[Place] = []
    for one in nested:
        above = found[one.parent] if one.parent >= 0 else Place()
        found.append(_place(one.span, above, made))
    return found


def _place(span: Span, above: Place, made: "_Made") -> Place:
    if span.name.startswith(MODULE):
        return replace(above, modules=(*above.modules, span.name.removeprefix(MODULE)), kind="")
    if span.name == ROUND:
        return Place(reason=OUTSIDE)
    if span.name == BACKWARD:
        return replace(above, backward=True, reason=ENGINE)
    if span.name.startswith(NODE):
        return made.of(span, above)
    place = above if above.kind else replace(above, kind=kind_of(span.name))
    made.note(span, place)
    return place


@final
class _Made:
    """Which place every number of autograd was drawn in."""

    def __init__(self) -> None:
        self._numbers: defaultdict[int, list[int]] = defaultdict(list)
        self._places: defaultdict[int, list[Place]] = defaultdict(list)
        self._last: dict[int, Place] = {}

    def note(self, span: Span, place: Place) -> None:
        """Remember an operator; a node that runs backward draws no number of its own."""
        numbers = self._numbers[span.thread]
        if not span.forward_thread and span.sequence >= (numbers[-1] if numbers else 0):
            numbers.append(span.sequence)
            self._places[span.thread].append(place)

    def of(self, node: Span, above: Place) -> Place:
        """Return the place of a node that runs backward."""
        if node.sequence == _BEFORE_ALL:
            # No word of the kind: adding up is not what computed the gradient.
            last = self._last.get(node.thread, above)
            return replace(last, kind="", backward=True)
        at = bisect_right(self._numbers[node.forward_thread], node.sequence) - 1
        place = self._places[node.forward_thread][at] if at >= 0 else above
        if not place.modules:
            place = replace(place, reason=OUTSIDE)
        self._last[node.thread] = replace(place, backward=True)
        return self._last[node.thread]
