"""The process in which the cells of one group run: it answers one question after the other.

It ends when its parent does, in the middle of a call too, and however the parent ended. What the
model prints goes to stderr.
"""

import os
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Final, TypeAlias, final

import torch

from attncost.measure.laws.predicted import Predicted
from attncost.measure.subjects.subject import Recipe, Subject
from attncost.measure.sweep.cell import Known, Ready, Row
from attncost.measure.sweep.runner import InProcess, Key, Lost, Runner, lost

_STATUS: Final = Path("/proc/self/status")
_ENDED: Final = 1


@final
@dataclass(frozen=True, slots=True)
class Predict:
    """Ask the formula."""

    key: Key


@final
@dataclass(frozen=True, slots=True)
class Prepare:
    """Make a cell ready."""

    key: Key
    known: Known | None
    peaks: Mapping[int, int]


@final
@dataclass(frozen=True, slots=True)
class Take:
    """Sample a ready cell in a round."""

    key: Key
    visit: int


Question: TypeAlias = Predict | Prepare | Take
Answer: TypeAlias = Predicted | Ready | tuple[Row, ...] | Lost


def serve(connection: Connection, recipe: Recipe, *, runner: InProcess, memory: int | None) -> None:
    """Make the subjects, say so with None or a `Lost`, and answer until the parent is gone.

    Args:
        connection: To the parent.
        recipe: Makes the subjects.
        runner: What it does the work with.
        memory: How many bytes all of it may take, beyond what Python and PyTorch take.
    """
    if hasattr(os, "setpgrp"):
        os.setpgrp()  # So that what a model starts can be ended with it.
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.dup2(2, 1)
    subjects: dict[str, Subject] = {}

    def make() -> None:
        if memory is not None:
            _limit(memory, runner.clock.device)
        subjects.update((subject.name, subject) for subject in recipe())

    # The parent may be gone at any time, and an answer unread.
    with runner, suppress(EOFError, ConnectionResetError, BrokenPipeError):
        connection.send(_attempted(make))
        while True:
            question = connection.recv()
            connection.send(_attempted(partial(_answer, runner, subjects, question)))


def limits_memory() -> bool:
    """Say whether a process can be held to an amount of memory here."""
    return _STATUS.is_file()


def _answer(runner: Runner, subjects: dict[str, Subject], question: Question) -> Answer:
    if isinstance(question, Take):
        return runner.sample(question.key, question.visit)
    name, case = question.key
    if isinstance(question, Predict):
        return runner.predict(subjects[name], case)
    return runner.ready(subjects[name], case, known=question.known, peaks=question.peaks)


def _attempted(run: Callable[[], Answer | None]) -> Answer | None:
    """Run what the user's code is part of; whatever it raises is an answer."""
    try:
        return run()
    except Exception as error:  # noqa: BLE001 -- theirs, and it becomes a row
        return lost(error)


def _limit(memory: int, device: str) -> None:
    """Let this process have so many bytes more than it has."""
    if device == "cuda":
        total = torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, memory / total))
        return
    from resource import RLIMIT_DATA, getrlimit, setrlimit  # noqa: PLC0415 -- not on Windows

    # Pages of its own that may be written: not the files of libraries, nor addresses set aside.
    taken = next(line for line in _STATUS.read_text().splitlines() if line.startswith("VmData:"))
    setrlimit(RLIMIT_DATA, (1024 * int(taken.split()[1]) + memory, getrlimit(RLIMIT_DATA)[1]))


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    wait([parent.sentinel])
    if hasattr(os, "killpg"):
        os.killpg(0, signal.SIGKILL)
    os._exit(_ENDED)
