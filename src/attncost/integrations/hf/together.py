"""What a host's rule and a pattern allow together, in the plainest pattern that says it."""

from typing import TypeAlias

import torch

from attncost.integrations.hf.rules import nearer
from attncost.nn.ahead import reads_ahead
from attncost.patterns.causal import Causal
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern
from attncost.patterns.window import Window

_Limits: TypeAlias = tuple[int | None, int]


def together(rule: Pattern, pattern: Pattern, length: int) -> Pattern:
    """Return the pattern of the pairs that both read, at up to so many tokens."""
    if isinstance(rule, Full) or rule == pattern:
        return pattern
    if isinstance(pattern, Full):
        return rule
    a, b = _limits(rule), _limits(pattern)
    if a is not None and b is not None:
        return _band(nearer(a[0], b[0]), min(a[1], b[1]))
    within = isinstance(rule, Causal) and not torch.compiler.is_compiling()
    if within and not reads_ahead(pattern, length):
        return pattern
    return rule & pattern


def _limits(pattern: Pattern) -> _Limits | None:
    """Return how far before and after itself a query reads, if that is all there is to it."""
    if isinstance(pattern, Causal):
        return None, 0
    if isinstance(pattern, Window):
        return pattern.before, pattern.ahead
    return None


def _band(before: int | None, ahead: int) -> Pattern:
    return Causal() if before is None else Window(before + 1 + ahead, ahead=ahead)
