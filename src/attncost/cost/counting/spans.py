"""Calls of attention, found again in the backward pass by the numbers of their nodes."""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field
from typing import final

from attncost.cost.counting.apis.interface import AttentionCall


@final
@dataclass(eq=False, slots=True)
class Span:
    """The nodes of autograd that one call of an attention function made.

    Attributes:
        first: The number of the first.
        end: The number after the last.
        module: The module that called it.
        function: Its name.
        calls: The attention in it.
        opens: Whether its products with weights are counted by themselves.
        passes: The backward passes that met it.
    """

    first: int
    end: int
    module: str
    function: str
    calls: tuple[AttentionCall, ...]
    opens: bool
    passes: set[int] = field(default_factory=set)


@final
class Spans:
    """All such calls; the numbers of a thread only grow, so they lie in order."""

    def __init__(self) -> None:
        self._spans: defaultdict[int, list[Span]] = defaultdict(list)
        self._firsts: defaultdict[int, list[int]] = defaultdict(list)

    def add(self, span: Span, thread: int) -> None:
        """Remember a call, if it made nodes at all."""
        if span.first < span.end:
            self._spans[thread].append(span)
            self._firsts[thread].append(span.first)

    def holding(self, number: int, thread: int) -> Span | None:
        """Return the call in a thread that made a node, if one did."""
        at = bisect_right(self._firsts[thread], number) - 1
        found = self._spans[thread][at] if at >= 0 else None
        return found if found is not None and number < found.end else None
