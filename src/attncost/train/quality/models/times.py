"""How long a model takes for a text with each attention, side by side in one process.

Every visit swaps its attention in first, runs once, and starts the clock then: neither the swap nor
what is made for the first text of a length is counted, as who uses a model pays for both once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, final

import torch

from attncost.integrations.hf.trial import undisturbed
from attncost.measure.clocks.clock import CpuClock
from attncost.measure.clocks.interface import Clock, Run
from attncost.measure.speed.sampling import Progress
from attncost.measure.sweep.interleaved import Ratio
from attncost.measure.sweep.lock import machine_lock
from attncost.measure.trials.ways import time_ways
from attncost.mechanisms.spelling import spelling
from attncost.train.quality.models.in_place import in_place
from attncost.train.quality.models.outputs import Attention, Ids, run
from attncost.train.quality.models.reading import Reading

# A name that no attention is spelled by.
_OWN: Final = "own"
_SECONDS: Final = 45.0


def times(
    reading: Reading,
    attentions: Sequence[Attention],
    progress: Progress = lambda _: None,
    *,
    tell: Callable[[str], None] | None = None,
    clock: Clock | None = None,
) -> dict[str, Ratio]:
    """Return the time of the longest text with each attention, over that of the model as it is.

    Args:
        reading: The model, and its texts.
        attentions: What has been swapped in before without being refused.
        progress: Is told how far it is, from 0 to 1.
        tell: Is told whom it waits for, if another process measures on this machine.
        clock: What counts; CPU time, if left out.
    """
    text = max(reading.texts, key=len)
    ids = torch.tensor([text])
    calls: dict[str, Run] = {_OWN: lambda: run(reading, ids)}
    calls |= {spelling(one): _With(reading, one, ids) for one in attentions}
    counted = _Standing(clock or CpuClock())
    with machine_lock("cpu", tell=tell), undisturbed(reading.model):
        found = time_ways(calls, counted, lengths=[len(text)], seconds=_SECONDS, progress=progress)
    return {one.name: one.ratio for one in found if one.name != _OWN}


@final
@dataclass(frozen=True, slots=True, eq=False)
class _With:
    """A run of a model with another attention, which is swapped in and taken back."""

    reading: Reading
    attention: Attention
    ids: Ids

    def __call__(self) -> object:
        with in_place(self.reading, self.attention):
            return self.run()

    def run(self) -> object:
        return run(self.reading, self.ids)


@final
class _Standing(Clock):
    """A clock that starts once an attention stands in its model and has run there."""

    __slots__ = ("_clock",)
    name: ClassVar[str] = CpuClock.name
    reason: ClassVar[str] = CpuClock.reason
    device: ClassVar[str] = CpuClock.device
    resolution: ClassVar[float] = CpuClock.resolution

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def elapsed(self, call: Run, repeats: int) -> float:
        """Count the runs, and not the swap."""
        if not isinstance(call, _With):
            call()
            return self._clock.elapsed(call, repeats)
        with in_place(call.reading, call.attention):
            call.run()
            return self._clock.elapsed(call.run, repeats)
