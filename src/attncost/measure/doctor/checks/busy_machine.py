"""Whether others use the machine now: wall time of one thread beyond its CPU time.

What one thread waits for here is a core, for it reads no disk. It says how busy the machine was
during a second or two, and nothing of other times.
"""

from statistics import median
from typing import ClassVar, Final, final

import torch

from attncost.core.units import show
from attncost.measure.clocks.usage import Usage, counts_waiting
from attncost.measure.doctor.instruments import Comparison, Instruments
from attncost.measure.doctor.interface import Advice, Check, Diagnosis
from attncost.measure.doctor.patient import Patient
from attncost.measure.store.summary import interval
from attncost.measure.sweep.interleaved import Ratio

_CALLS: Final = 20


@final
class BusyMachine(Check):
    """A product of matrices again and again, by both clocks at once."""

    asks: ClassVar[str] = "do others use this machine, so that wall time counts their work?"
    of_machine: ClassVar[bool] = True
    seconds: ClassVar[float] = 1.5

    def answers(self, patient: Patient, instruments: Instruments) -> tuple[Diagnosis, ...]:
        """Read both clocks around the same calls."""
        del patient
        square = torch.full((512, 512), 1e-3)
        before, found = Usage.now(), []
        for _ in range(instruments.rounds):
            reading = instruments.clock.time(lambda: square @ square, _CALLS)
            found.append(reading.wall_seconds / max(reading.seconds, 1e-9))
        waited = Usage.now().since(before, calls=1).waited_seconds
        because = "a thread waits for a core: others work."
        if counts_waiting():
            because += f" It waited {show(waited, 'seconds')} in all."
        advice = Advice(
            do="attncost measure, which counts process CPU time; or wait until others are done",
            undo="nothing was changed",
            because=because,
            fine="nobody else wanted the core: wall time is CPU time.",
        )
        time = Ratio(median(found), *interval(found), len(found))
        compared = Comparison(time=time, clock="wall time over CPU time")
        what = "one thread's wall time over its CPU time"
        return (self.judged(what, compared, advice),)
