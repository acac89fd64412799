"""What the loop asks of a task: batches from numbers, and some that are held out.

Every `Task` has these; whoever trains a model of their own needs no more.
"""

from typing import Protocol, runtime_checkable

from attncost.train.tasks.interface import Batch, Metric


@runtime_checkable
class Draws(Protocol):
    """What can be trained on."""

    def drawn(self, size: int, *, seed: int, step: int) -> Batch:
        """Return so many training sequences; the same ones for the same numbers."""


@runtime_checkable
class HoldsOut(Protocol):
    """What a model can be judged by."""

    @property
    def metric(self) -> Metric:
        """What counts: `accuracy` of the labels, or their mean cross entropy in `nats`."""

    def held_out(self, size: int) -> Batch:
        """Return at most so many sequences, the same ones each time."""
