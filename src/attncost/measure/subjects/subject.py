"""What a sweep measures: something that runs at any length, beside the formula of its cost."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

from attncost.measure.laws.predicted import Predicted
from attncost.measure.subjects.case import Case


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """One line of a chart.

    Attributes:
        name: What people call it, unique in a sweep, such as `full, fused qkv`.
        labels: What tells it from the others, such as `{"attention": "full", "qkv": "fused"}`.
        prepare: Takes a case, returns the call to time; what it needs is made once, outside.
        predict: Takes a case, returns what the formula says of that call.
    """

    name: str
    labels: Mapping[str, str]
    prepare: Callable[[Case], Callable[[], object]]
    predict: Callable[[Case], Predicted]


# Makes the same subjects every time, in other processes too: it can be pickled.
Recipe: TypeAlias = Callable[[], Sequence[Subject]]
