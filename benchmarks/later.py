"""What counting leaves behind, the time of a model's later steps; and how long counting takes.

A model that was counted and one that never was are each in a process of their own, so that what
counting leaves anywhere in a process shows. They step in turns; each pair of processes gives a
ratio or a few, since two processes that do the same differ a little for as long as they live.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing.connection import Connection
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Final, final

import torch
from benchmarks.apart import Child
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from attncost.cost.counting.count import count
from attncost.measure.clocks.clock import clock_for
from attncost.measure.sweep.interleaved import Samples, interleave

if TYPE_CHECKING:
    from attncost.measure.clocks.interface import Run

COUNTED: Final = "counted before"
NEVER: Final = "never counted"
FORWARD: Final = "forward"
OURS: Final = "attncost"
TORCH: Final = "torch"

_FEATURES: Final = 128
# A step of some 10 ms, most of it in Python: so hooks that stay would show.
_SHAPE: Final = (4, 32, _FEATURES)
_STEPS: Final = 5
_VISITS: Final = 5
_PATIENCE: Final = 120


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Pairs:
    """How many pairs of processes step in turns, and how often.

    Attributes:
        pairs: Pairs of processes.
        rounds: Ratios of each.
        compiled: Whether the models are compiled.
    """

    pairs: int
    rounds: int
    compiled: bool = False

    def __str__(self) -> str:
        return "compiled" if self.compiled else "eager"


def later(asked: Pairs) -> Samples:
    """Return the seconds of a training step of a model counted before and of one never counted."""
    order = Random(0)
    samples: Samples = {COUNTED: {}, NEVER: {}}
    for pair in range(asked.pairs):
        serve = {name: partial(_serve, name == COUNTED, asked.compiled) for name in samples}
        with Child(serve[COUNTED]) as one, Child(serve[NEVER]) as other:
            workers = {COUNTED: one, NEVER: other}
            for visit in range(asked.rounds):
                taken = _taken(workers, order)
                for name, seconds in taken.items():
                    samples[name][pair * asked.rounds + visit] = median(seconds)
    return samples


def counting(module: nn.Module, inputs: tuple[Tensor, ...], rounds: int) -> Samples:
    """Return the seconds of a forward pass, and of counting one by us and by PyTorch."""

    def theirs() -> None:
        with FlopCounterMode(display=False):
            module(*inputs)

    calls: dict[str, Run] = {
        FORWARD: lambda: module(*inputs),
        OURS: lambda: count(module, *inputs),
        TORCH: theirs,
    }
    return interleave(calls, clock_for("cpu"), rounds=rounds, wanted=lambda _: calls)


def _taken(workers: dict[str, Child], order: Random) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {name: [] for name in workers}
    turns = [name for name, _ in product(workers, range(_VISITS))]
    order.shuffle(turns)
    for name in turns:
        workers[name].tell(_STEPS)
        heard = workers[name].hear(_PATIENCE)
        if heard.crash is not None:
            raise RuntimeError(f"a model {name} stopped stepping: {heard.crash}")
        taken[name].append(heard.value)
    return taken


def _serve(counted: bool, compiled: bool, pipe: Connection) -> None:
    """Step as often as the other end of the pipe says, and send the seconds of one step."""
    step = _training(counted=counted, compiled=compiled)
    clock = clock_for("cpu")
    for _ in range(3):
        step()
    while True:
        steps = pipe.recv()
        # What the other process did last is what the caches hold.
        step()
        pipe.send(clock.time(step, steps).seconds)


def _training(*, counted: bool, compiled: bool) -> Callable[[], None]:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(_FEATURES, 4, 4 * _FEATURES, dropout=0.0, batch_first=True)
    module: nn.Module = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
    x = torch.randn(_SHAPE)
    if compiled:
        module.compile()

    def step() -> None:
        module.zero_grad()
        module(x).sum().backward()

    if compiled:
        step()
    if counted:
        count(module, x, training=True)
    return step
