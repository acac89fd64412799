"""How many threads end a layer first: more than there are cores, or granted, only wait.

By wall time: CPU time adds up over threads. So work of others is in it, and noise is larger.
"""

from statistics import median
from typing import ClassVar, Final, final

import torch

from attncost.core.units import show
from attncost.measure.clocks.clock import Run
from attncost.measure.doctor.falling import sdpa
from attncost.measure.doctor.instruments import Comparison, Instruments
from attncost.measure.doctor.interface import Advice, Check, Diagnosis
from attncost.measure.doctor.machine import allowed_cores, physical_cores, quota
from attncost.measure.doctor.patient import Patient
from attncost.measure.sweep.interleaved import ratio

_MOST: Final = 6


@final
class Threads(Check):
    """Projections and fused attention, with one thread up to one for each core."""

    asks: ClassVar[str] = "does PyTorch use as many threads as end first?"
    calls: ClassVar[float] = 15
    blocks: ClassVar[float] = 0.5

    def answers(self, patient: Patient, instruments: Instruments) -> tuple[Diagnosis, ...]:
        """Time each number of threads, and advise the best."""
        now = patient.threads
        what = f"a layer with {_threads(now)}, {patient.length:,} tokens"
        there = _there()
        calls = {str(count): _layer(patient, count) for count in _counts(now)}
        if len(calls) == 1:
            return (self.unasked(what, "does not apply", f"there is one core: {there}."),)
        with torch.inference_mode():
            found = instruments.samples(calls, against=str(now), clock=instruments.wall)
        seconds = {name: median(times.values()) for name, times in found.items()}
        best = min(seconds, key=seconds.__getitem__)
        usual = "; ".join(f"{name}: {show(seconds[name], 'seconds')}" for name in calls)
        heard = f"{there}. Wall time by threads: {usual}."
        if best == str(now):
            best = min(seconds.keys() - {best}, key=seconds.__getitem__)
        compared = Comparison(time=ratio(found, str(now), best), clock=instruments.wall.name)
        advice = Advice(
            do=f"torch.set_num_threads({best})",
            undo=f"torch.set_num_threads({now})",
            because=f"another number ends first: {heard}",
            fine=f"no other number ends first: {heard}",
        )
        return (self.judged(what, compared, advice),)


def _there() -> str:
    granted = quota()
    limit = "" if granted is None else f", {granted:g} granted by the container"
    return f"{physical_cores()} physical cores, {allowed_cores()} allowed{limit}"


def _counts(now: int) -> list[int]:
    """Return which numbers to try: powers of two up to the cores, all cores, and the present."""
    cores = physical_cores()
    powers = {1 << power for power in range(cores.bit_length())}
    most = sorted(powers | {cores, allowed_cores()})[-_MOST + 1 :]
    return sorted({*most, now})


def _layer(patient: Patient, threads: int) -> Run:
    x = patient.tokens(patient.heads * patient.head_dim)
    weights = torch.full((3 * x.shape[-1], x.shape[-1]), 1e-3)
    parts = (1, patient.length, 3, patient.heads, patient.head_dim)

    def run() -> object:
        torch.set_num_threads(threads)
        features = torch.nn.functional.linear(x, weights)
        q, k, v = features.view(parts).permute(2, 0, 3, 1, 4)
        return sdpa(q, k, v)

    return run


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"
