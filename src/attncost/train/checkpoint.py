"""A checkpoint: what a run needs to go on, in one file of safetensors, whole or not there at all.

    weights, buffers and the optimizer's state    3 x the size of the parameters, for AdamW

It is written beside its place, forced onto the disk, and then put there, so that kill -9 and a
power cut leave the one before. It holds no code, and reading it runs none. Which run it belongs to
stands in its header: any other is refused before anything is changed. Random numbers are not in it,
as each step draws its own. What lies on a GPU is copied first.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, final

import torch
from torch import Tensor, nn
from torch.amp.grad_scaler import GradScaler
from torch.optim import Optimizer

from attncost.core.errors import StorageError, UnsupportedOption
from attncost.train.identity import check_same, shown

FILE: Final = "checkpoint.safetensors"
SCHEMA: Final = "attncost.checkpoint/1"
# Saving takes less than this share of the time.
_SHARE: Final = 0.02
_SECONDS: Final = 1.0
# What the header says beside the run.
_SAID: Final[Mapping[str, type]] = {"step": int, "scaler": dict, "states": dict}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Trainee:
    """What changes in training.

    Attributes:
        model: The model.
        optimizer: Of its parameters.
        scaler: Of the loss, which does nothing except in float16.
    """

    model: nn.Module
    optimizer: Optimizer
    scaler: GradScaler


@final
@dataclass(frozen=True, slots=True, eq=False)
class Stored:
    """What was read from a checkpoint.

    Attributes:
        step: How many steps are done.
        tensors: Of the model and of the optimizer, by name.
        scaler: The state of the scaler.
    """

    step: int
    tensors: Mapping[str, Tensor]
    scaler: dict[str, Any]


def save(folder: Path, trainee: Trainee, run: Mapping[str, Any], *, step: int) -> None:
    """Write a checkpoint in the place of the one before.

    Args:
        folder: Where it lies.
        trainee: What it holds.
        run: Its `identity`.
        step: How many steps are done.

    Raises:
        StorageError: If it cannot be written.
        UnsupportedOption: If safetensors is missing, or something has a state that is no tensor.
    """
    safetensors = _safetensors()
    states = _of_optimizer(trainee)
    tensors = _apart({**_of_model(trainee.model), **states})
    said = {
        "schema": SCHEMA,
        "step": step,
        "scaler": trainee.scaler.state_dict(),
        "states": _all_shown(states),
        **run,
    }
    there, beside = folder / FILE, folder / f"{FILE}.part"
    try:
        safetensors.torch.save_file(tensors, beside, {"attncost": json.dumps(said, sort_keys=True)})
        _force(beside)
        beside.replace(there)
        _force(folder)
    except (OSError, safetensors.SafetensorError) as error:
        raise StorageError(
            f"{there} cannot be written ({error}): make room, or name another folder."
        ) from error


def read(folder: Path, trainee: Trainee, run: Mapping[str, Any]) -> Stored | None:
    """Return what a checkpoint holds, and change nothing.

    Args:
        folder: Where it lies.
        trainee: What it must fit.
        run: Its `identity`, which must be that of the checkpoint.

    Returns:
        What it holds; None if there is no checkpoint.

    Raises:
        StorageError: If it is of another run, or no whole checkpoint.
        UnsupportedOption: If safetensors is missing, or the model has a state that is no tensor.
    """
    safetensors, file, own = _safetensors(), folder / FILE, _of_model(trainee.model)
    if not file.exists():
        return None
    said, found = _read(safetensors, file)
    check_same(file, said, run)
    _check_tensors(file, {**_all_shown(own), **said["states"]}, _all_shown(found))
    return Stored(said["step"], found, said["scaler"])


def restore(trainee: Trainee, stored: Stored) -> None:
    """Give model, optimizer and scaler what was read for them."""
    with torch.no_grad():
        for name, tensor in _of_model(trainee.model).items():
            tensor.copy_(stored.tensors[name])
    groups = trainee.optimizer.state_dict()["param_groups"]
    numbered = {
        index: {
            name.removeprefix(start): x
            for name, x in stored.tensors.items()
            if name.startswith(start)
        }
        for index in chain.from_iterable(group["params"] for group in groups)
        for start in [f"optimizer.{index}."]
    }
    trainee.optimizer.load_state_dict({"state": numbered, "param_groups": groups})
    trainee.scaler.load_state_dict(stored.scaler)


@final
class Pace:
    """Says when to save, so that little time goes into it and little is lost with the process.

    Args:
        clock: Seconds since some moment.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._next = clock, clock() + _SECONDS

    @property
    def due(self) -> bool:
        """Whether enough time is over since the last time."""
        return self._clock() >= self._next

    @contextmanager
    def saving(self) -> Iterator[None]:
        """Take the time that saving takes; the next time is as much later as keeps its share."""
        start = self._clock()
        yield
        end = self._clock()
        self._next = end + max(_SECONDS, (end - start) / _SHARE)


def _of_model(model: nn.Module) -> dict[str, Tensor]:
    """Return its tensors, each under its first name."""
    found: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if not isinstance(tensor, Tensor):
            raise UnsupportedOption(
                f"{name} of the model is a {type(tensor).__name__}, and a checkpoint holds tensors "
                "alone: train without a folder."
            )
        found.setdefault(id(tensor), (f"model.{name}", tensor))
    return dict(found.values())


def _of_optimizer(trainee: Trainee) -> dict[str, Tensor]:
    found: dict[str, Tensor] = {}
    for index, state in trainee.optimizer.state_dict()["state"].items():
        for name, value in state.items():
            if isinstance(value, Tensor):
                found[f"optimizer.{index}.{name}"] = value
            elif value is not None:
                raise UnsupportedOption(
                    f"{name} of {type(trainee.optimizer).__name__} is a {type(value).__name__}, "
                    "and a checkpoint holds tensors alone: train without a folder."
                )
    return found


def _apart(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return tensors on the CPU no two of which share memory."""
    held: set[int] = set()
    found = {}
    for name, tensor in tensors.items():
        here = tensor.detach().cpu().contiguous()
        memory = here.untyped_storage().data_ptr()
        found[name] = here.clone() if memory in held else here
        held.add(memory)
    return found


def _read(safetensors: Any, file: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:  # noqa: ANN401
    try:
        with safetensors.safe_open(file, "pt") as opened:
            said = json.loads((opened.metadata() or {}).get("attncost", "{}"))
            found = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    except (safetensors.SafetensorError, OSError, ValueError) as error:
        raise StorageError(
            f"{file} is no whole checkpoint ({error}): remove it with the log beside it to begin "
            "again, or name another folder."
        ) from error
    known = isinstance(said, dict) and said.get("schema") == SCHEMA
    if not known or not all(isinstance(said.get(name), kind) for name, kind in _SAID.items()):
        raise StorageError(f"{file} is no checkpoint of {SCHEMA}: name another folder.")
    return said, found


def _check_tensors(file: Path, own: Mapping[str, str], found: Mapping[str, str]) -> None:
    for name in {**own, **found}:
        there, here = found.get(name, "missing"), own.get(name, "missing")
        if there != here:
            raise StorageError(
                f"{file} is of another run, where {name} is {there} and not {here}: name another "
                "folder."
            )


def _all_shown(tensors: Mapping[str, Tensor]) -> dict[str, str]:
    return {name: shown(tensor) for name, tensor in tensors.items()}


def _force(path: Path) -> None:
    """Wait until a file, or what a folder says of its files, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _safetensors() -> Any:  # noqa: ANN401 -- a module
    try:
        import safetensors  # noqa: PLC0415 -- an extra
        import safetensors.torch  # noqa: PLC0415
    except ImportError as error:
        raise UnsupportedOption(
            "checkpoints need safetensors: pip install 'attncost[train]', or train without a "
            "folder."
        ) from error
    return safetensors
