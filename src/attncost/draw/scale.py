"""Where a value stands on an axis.

    linear: start + (end - start) (v - low) / (high - low); logarithmic: the same of log v

A domain never is a single value, so that nothing here divides by zero.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

# The share of an axis that stays free beyond the outermost values.
_MARGIN: Final = 0.03


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Scale:
    """The values from `low` to `high` laid out from `start` to `end`.

    Attributes:
        low: The least value.
        high: The greatest value, above `low`.
        start: The position of `low`.
        end: The position of `high`; less than `start` on an axis that points up.
        log: Whether equal steps are equal factors.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool

    def __call__(self, value: float) -> float:
        """Return the position of a value."""
        low, high, at = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return self.start + (at - low) / (high - low) * (self.end - self.start)


def domain(values: Sequence[float], *, log: bool, zero: bool = False) -> tuple[float, float]:
    """Return the least and the greatest value that an axis shows.

    Args:
        values: What it must show, at least one; positive if `log`.
        log: Whether the axis is logarithmic.
        zero: Whether a linear axis starts at 0 where 0 is no farther from the values than they
            spread: an axis that starts elsewhere makes small differences look large.
    """
    low, high = float(min(values)), float(max(values))
    alike = high - low <= 1e-9 * max(abs(low), abs(high))
    if log:
        if alike:
            return low / 3, high * 3
        margin = (high / low) ** _MARGIN
        return low / margin, high * margin
    if alike:
        return (min(0.0, 2 * low), max(0.0, 2 * high)) if low else (0.0, 1.0)
    margin = _MARGIN * (high - low)
    from_zero = zero and 0 <= low <= high / 2
    return 0.0 if from_zero else low - margin, high + margin
