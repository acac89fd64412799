"""How fast this machine is: the time of one naive attention at a short length, timed once."""

from dataclasses import replace
from typing import Final, final

import torch

from attncost.measure.clocks.clock import CpuClock
from attncost.measure.clocks.interface import Clock
from attncost.measure.doctor.patient import Patient
from attncost.measure.subjects.attends import naive

SHORT: Final = 256


@final
class Probe:
    """Times it for the heads of whoever is examined, and remembers what it found for them.

    Args:
        clock: How to time.
    """

    __slots__ = ("_clock", "_known")

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or CpuClock()
        self._known: dict[tuple[int, int], float] = {}

    def __call__(self, patient: Patient) -> float:
        """Return the seconds of one naive attention of these heads at `SHORT` tokens."""
        heads = patient.heads, patient.head_dim
        if heads not in self._known:
            q = replace(patient, length=SHORT).features_of_heads()
            with torch.inference_mode():
                naive(q, q, q)
                self._known[heads] = self._clock.time(lambda: naive(q, q, q), 3).seconds
        return self._known[heads]
