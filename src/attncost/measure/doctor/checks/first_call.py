"""What the first call of a process takes beyond later ones: code is loaded, plans are made.

Each sample is a process of its own, forked where PyTorch is imported and has computed nothing yet.
Compilation is not among it.
"""

import os
from dataclasses import replace
from statistics import median
from typing import ClassVar, Final, final

from attncost.core.units import show
from attncost.measure.doctor.instruments import Comparison, Instruments
from attncost.measure.doctor.interface import Advice, Check, Diagnosis
from attncost.measure.doctor.patient import Patient
from attncost.measure.doctor.workers import workers
from attncost.measure.store.summary import interval
from attncost.measure.sweep.interleaved import Ratio

_SHORT: Final = 128


@final
class FirstCall(Check):
    """A short layer, whose first call shows it most."""

    asks: ClassVar[str] = "how much slower is the first call of a process?"
    of_machine: ClassVar[bool] = True
    seconds: ClassVar[float] = 3.0

    def answers(self, patient: Patient, instruments: Instruments) -> tuple[Diagnosis, ...]:
        """Have a new process call it several times, again and again."""
        short = replace(patient, length=min(patient.length, _SHORT))
        what = f"the first call of a layer in a process, {short.length} tokens"
        if not hasattr(os, "fork"):
            return (self.unasked(what, "does not apply", "this system cannot fork a process."),)
        with workers("first", short, {"": {}}, left=instruments.left) as started:
            found = [started[""]() for _ in range(instruments.rounds)]
        ratios = [one["first"] / one["later"] for one in found]
        beyond = median(one["first"] - one["later"] for one in found)
        compared = Comparison(
            time=Ratio(median(ratios), *interval(ratios), len(ratios)),
            clock="CPU time of a process of its own",
        )
        advice = Advice(
            do="for _ in range(3): model(x)  # before you time or serve",
            undo="leave these calls out",
            because=f"it takes {show(beyond, 'seconds')} more than later ones, once a process.",
        )
        return (self.judged(what, compared, advice),)
