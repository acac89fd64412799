"""How many threads end a layer first: more than there are cores, or granted, only wait.

By wall time: CPU time adds up over threads. So work of others is in it, and noise is larger.
"""

import os
from dataclasses import dataclass
from statistics import median
from typing import ClassVar, Final, final

import torch
from torch import Tensor

from attncost.core.units import show
from attncost.measure.clocks.interface import Clock, Run
from attncost.measure.doctor.falling import sdpa
from attncost.measure.doctor.instruments import Comparison, Instruments
from attncost.measure.doctor.interface import Advice, Check, Diagnosis
from attncost.measure.doctor.patient import Patient
from attncost.measure.host.processor import allowed, physical_cores, quota

_MOST: Final = 6
# PyTorch shares out element-wise work from 32,768 elements on.
_SHARED: Final = 1 << 16


@final
class Threads(Check):
    """Projections and fused attention, with one thread up to one for each core."""

    asks: ClassVar[str] = "does PyTorch use as many threads as end first?"
    of_machine: ClassVar[bool] = True
    calls: ClassVar[float] = 15
    blocks: ClassVar[float] = 0.5

    def answers(self, patient: Patient, instruments: Instruments) -> tuple[Diagnosis, ...]:
        """Time each number of threads, and advise the best."""
        now = patient.threads
        what = f"a layer with {_threads(now)}, {patient.length:,} tokens"
        there = _there()
        layers = {str(count): _layer(patient, count) for count in _counts(now)}
        if len(layers) == 1:
            return (self.unasked(what, "does not apply", f"there is one core: {there}."),)
        clock = instruments.wall
        with torch.inference_mode():
            picked = instruments.pick(layers, against=str(now), clock=_OnThreads(clock))
        usual = "; ".join(
            f"{name}: {show(median(times.values()), 'seconds')}"
            for name, times in picked.seen.items()
        )
        heard = f"{there}. Wall time by threads, at a first look: {usual}."
        compared = Comparison(time=picked.time, clock=clock.name)
        advice = Advice(
            do=f"torch.set_num_threads({picked.name})",
            undo=f"torch.set_num_threads({now})",
            because=f"another number ends first: {heard}",
            fine=f"no other number ends first: {heard}",
        )
        return (self.judged(what, compared, advice),)


@final
@dataclass(frozen=True, slots=True)
class _Layer:
    """A layer, and how many threads it wants."""

    threads: int
    call: Run

    def __call__(self) -> object:
        return self.call()


@final
class _OnThreads(Clock):
    """A clock that gives a layer its threads, and wakes them, before it looks."""

    __slots__ = ("_clock",)
    name: ClassVar[str] = "wall time"
    reason: ClassVar[str] = "to start threads takes time, once a process and not once a call"
    device: ClassVar[str] = "cpu"

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def elapsed(self, call: Run, repeats: int) -> float:
        """Let the clock count, with the threads at work."""
        assert isinstance(call, _Layer)
        torch.set_num_threads(call.threads)
        torch.ones(call.threads * _SHARED).exp()
        return self._clock.elapsed(call, repeats)


def _there() -> str:
    granted = quota()
    limit = "" if granted is None else f", {granted:g} granted by the container"
    return f"{_physical()} physical cores, {_allowed()} allowed{limit}"


def _allowed() -> int:
    return len(allowed() or ()) or os.cpu_count() or 1


def _physical() -> int:
    return physical_cores(among=allowed()) or _allowed()


def _counts(now: int) -> list[int]:
    """Return which numbers to try: powers of two up to the cores, all cores, and the present."""
    cores = _physical()
    powers = {1 << power for power in range(cores.bit_length())}
    most = sorted(powers | {cores, _allowed()})[-_MOST + 1 :]
    return sorted({*most, now})


def _layer(patient: Patient, threads: int) -> _Layer:
    x = patient.tokens(patient.heads * patient.head_dim)
    weights = torch.full((3 * x.shape[-1], x.shape[-1]), 1e-3)
    parts = (1, patient.length, 3, patient.heads, patient.head_dim)

    def run() -> Tensor:
        features = torch.nn.functional.linear(x, weights)
        q, k, v = features.view(parts).permute(2, 0, 3, 1, 4)
        return sdpa(q, k, v)

    return _Layer(threads, run)


def _threads(count: int) -> str:
    return "1 thread" if count == 1 else f"{count} threads"
