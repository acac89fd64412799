"""A figure and how sure it is."""

from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval.

    Attributes:
        value: The figure.
        low: Lower end; None where one seed or text says nothing of how much they differ.
        high: Upper end.
    """

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def settled(self) -> bool:
        """Whether an interval leaves out 0, so that its sign is known."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high
