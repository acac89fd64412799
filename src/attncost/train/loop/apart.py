"""What training changes beside weights, put back afterwards: modes, generators, gradients."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from attncost.measure.clocks.threads import threads
from attncost.train.loop.scores import device_of


@contextmanager
def mode(model: nn.Module, *, training: bool) -> Iterator[None]:
    """Set the mode of a model and all its parts, each of which gets its own back."""
    before = [(module, module.training) for module in model.modules()]
    try:
        model.train(training)
        yield
    finally:
        for module, mode in before:
            module.training = mode


@contextmanager
def apart(model: nn.Module) -> Iterator[None]:
    """Train meanwhile, and leave generators as they were and no gradients behind."""
    device = device_of(model)
    devices = [device] if device.type == "cuda" else []
    try:
        with (
            # With as many threads as before, but past the first mathematics of a process, whose
            # last bits vary.
            threads(torch.get_num_threads()),
            torch.random.fork_rng(devices),
            torch.enable_grad(),
            mode(model, training=True),
        ):
            yield
    finally:
        model.zero_grad()


def begin(device: torch.device, seed: int, step: int) -> None:
    """Let what is drawn from here on depend on a seed and a step alone."""
    (mixed,) = np.random.SeedSequence((seed, step)).generate_state(1, np.uint64)
    torch.default_generator.manual_seed(int(mixed))
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(int(mixed))
