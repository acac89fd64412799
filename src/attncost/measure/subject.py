"""What a sweep measures: something that runs at any length, beside the formula of its cost."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Predicted:
    """What the formula says of one call; a multiply-add is 2 FLOPs.

    Attributes:
        linear: FLOPs that grow with the length alone: projections, feed-forward.
        core: FLOPs that the kernel executes between queries and keys.
    """

    linear: int
    core: int


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """One line of a chart.

    Attributes:
        name: What people call it, unique in a sweep, such as `full, fused qkv`.
        labels: What tells it from the others, such as `{"attention": "full", "qkv": "fused"}`.
        prepare: Takes a length, returns the call to time; what it needs is made once, outside.
        predict: Takes a length, returns what the formula says of that call.
    """

    name: str
    labels: Mapping[str, str]
    prepare: Callable[[int], Callable[[], object]]
    predict: Callable[[int], Predicted]
