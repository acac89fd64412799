"""Train a model by a recipe.

All randomness of a step comes from its number and the recipe's seed, so that a run that goes on
from a checkpoint is the same to the last bit on a CPU with as many threads. The model's mode and
PyTorch's generators are as before afterwards, also after an error. A loss or a gradient that is not
finite ends the run: that is a result, and no error. One process on one device; what a model draws
from other generators than PyTorch's is not repeated.
"""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TypeAlias

from torch import nn
from torch.amp.grad_scaler import GradScaler
from torch.optim import Optimizer

from attncost.core.errors import ShapeError
from attncost.train.checkpoint import Trainee
from attncost.train.identity import identity
from attncost.train.log import held
from attncost.train.loop.apart import apart
from attncost.train.loop.given import Draws
from attncost.train.loop.record import Record, Trained
from attncost.train.loop.scores import device_of
from attncost.train.loop.steps import Steps
from attncost.train.recipe import Recipe, optimizer

Progress: TypeAlias = Callable[[int, int], None]
Optimize: TypeAlias = Callable[[nn.Module, Recipe], Optimizer]


def train(
    model: nn.Module,
    task: Draws,
    recipe: Recipe,
    *,
    folder: Path | None = None,
    every: int = 10,
    progress: Progress | None = None,
    until: int | None = None,
    optimize: Optimize = optimizer,
) -> Trained:
    """Train a model in place.

    Args:
        model: Maps tokens (b, n) to scores (b, r, c), a row of scores for each label. A run goes on
            with a model that was built as it was for its first step, to the last bit.
        task: What it learns: anything that draws batches.
        recipe: How.
        folder: Where log and checkpoint are kept, every second or less often; a run that is there
            goes on.
        every: How many steps lie between two in which layers are looked at, the first and the last
            step of the recipe among them; 0 for never, as compiled models need.
        progress: Told how many steps are done, and of how many.
        until: Stop before this step; the recipe stays that of the whole run.
        optimize: Makes the optimizer, whose rate the recipe sets.

    Raises:
        ShapeError: If nothing can learn, or scores and labels do not belong together.
        StorageError: If the folder holds another run, is in use, or cannot be written.
        UnsupportedOption: If a compiled model is to be looked at, or safetensors is missing.
    """
    if every < 0 or (until or 0) < 0:
        raise ShapeError(f"every and until must be at least 0, got {every} and {until}.")
    if not any(weight.requires_grad for weight in model.parameters()):
        raise ShapeError("no parameter of the model requires a gradient: nothing can learn.")
    scaler = GradScaler(device_of(model).type, enabled=recipe.autocast == "float16")
    trainee = Trainee(model, optimize(model, recipe), scaler)
    stop = recipe.steps if until is None else min(until, recipe.steps)
    with apart(model), nullcontext() if folder is None else held(folder):
        run = {} if folder is None else identity(model, trainee.optimizer, task, recipe)
        record = Record(trainee, run, folder)
        tell = progress or _nobody
        tell(min(len(record), stop), stop)
        for row in Steps(trainee, task, recipe, every).made(len(record), stop):
            record.add(row)
            tell(row.step + 1, stop)
        return record.end()


def _nobody(done: int, total: int) -> None:
    """Hear nothing."""
