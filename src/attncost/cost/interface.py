"""What is known of a model's cost over the length of a sequence, by whoever knows it."""

from typing import Protocol, runtime_checkable

from attncost.core.cost import Cost
from attncost.core.counts import Count


@runtime_checkable
class SequenceCost(Protocol):
    """What one sequence costs: attention and all the rest, as `Configuration` says it."""

    @property
    def name(self) -> str:
        """What people call the model."""

    def core(self, length: Count) -> Cost:
        """Return what attention costs between the projections."""

    def linear(self, length: Count) -> Cost:
        """Return what all the rest costs."""
