"""Cells in processes of their own, so that none takes others with it.

There is one for each subject in each series. It lives on between its turns, and only one of them
works at a time, so rounds stay as interleaved as they are in one process. One that crashed or
missed its deadline is replaced, and the new one makes the other cells of the group ready again when
their turn comes. Each takes some 300 MB and 2 to 4 s to start, most of it for PyTorch.
"""

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Final, final

from attncost.core.errors import ShapeError, UnsupportedOption
from attncost.core.units import show
from attncost.measure.laws.predicted import Predicted
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.subject import Recipe, Subject
from attncost.measure.sweep.cell import Known, Ready, Row
from attncost.measure.sweep.enough import Series
from attncost.measure.sweep.runner import InProcess, Key, Lost, Runner
from attncost.measure.sweep.worker import (
    Answer,
    Predict,
    Prepare,
    Question,
    Take,
    limits_memory,
    serve,
)

MOST_GROUPS: Final = 32
# To import PyTorch on a busy machine, beside the deadline of a cell.
_START_SECONDS: Final = 120.0
_END_SECONDS: Final = 5.0


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a cell may take.

    Attributes:
        memory: Bytes of its process, beyond what Python and PyTorch take; None for all there is.
        deadline: Seconds to make it ready, and for each sample; None for ever.
    """

    memory: int | None = None
    deadline: float | None = None

    def __post_init__(self) -> None:
        if self.memory is not None and self.memory < 1:
            raise ShapeError(f"memory must be at least 1 byte, got {self.memory}.")
        if self.deadline is not None and not self.deadline > 0:
            raise ShapeError(
                f"deadline must be a positive number of seconds, got {self.deadline:g}."
            )
        if self.memory is not None and not limits_memory():
            raise UnsupportedOption(
                "a process is held to an amount of memory on Linux alone: leave --memory out."
            )


@final
class Isolated(Runner):
    """Processes of their own.

    Args:
        runner: What does the work in each of them.
        recipe: Makes the subjects there.
        limits: What a cell may take.
    """

    __slots__ = ("_children", "_dead", "_known", "_limits", "_recipe", "_runner")

    def __init__(self, runner: InProcess, *, recipe: Recipe, limits: Limits) -> None:
        self._runner, self._recipe, self._limits = runner, recipe, limits
        self._children: dict[Series, _Child] = {}
        self._dead: dict[Series, Lost] = {}
        self._known: dict[Key, Known] = {}

    def __enter__(self) -> "Isolated":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for child in self._children.values():
            child.release()
        for child in self._children.values():
            child.end(_END_SECONDS if error is None else 0.0)
        self._children.clear()

    def predict(self, subject: Subject, case: Case) -> Predicted | Lost:
        """Have the process of the group ask the formula, which may run the user's code."""
        found = self._ask(Predict((subject.name, case)))
        assert isinstance(found, Predicted | Lost)
        return found

    def ready(
        self, subject: Subject, case: Case, *, known: Known | None, peaks: Mapping[int, int]
    ) -> Ready | Lost:
        """Have the process of the group make a cell ready."""
        return self._ready((subject.name, case), known, peaks)

    def sample(self, key: Key, visit: int) -> tuple[Row, ...] | Lost:
        """Have the process of the group sample a cell, made ready again if it is a fresh one."""
        rows: tuple[Row, ...] = ()
        child = self._children.get(_group(key))
        if child is None or key not in child.cells:
            again = self._ready(key, self._known[key], {})
            if isinstance(again, Lost):
                return again
            rows = again.rows
        taken = self._ask(Take(key, visit))
        if isinstance(taken, Lost):
            return taken
        assert isinstance(taken, tuple)
        return (*rows, *taken)

    def _ready(self, key: Key, known: Known | None, peaks: Mapping[int, int]) -> Ready | Lost:
        found = self._ask(Prepare(key, known, peaks))
        if isinstance(found, Lost):
            return found
        assert isinstance(found, Ready)
        self._children[_group(key)].cells.add(key)
        self._known[key] = found.known
        return found

    def _ask(self, question: Question) -> Answer:
        group = _group(question.key)
        if group in self._dead:
            return self._dead[group]
        child = self._children.get(group)
        if child is None:
            child = self._children[group] = _Child(self._runner, self._recipe, self._limits.memory)
            started = child.answer(_START_SECONDS + (self._limits.deadline or 0.0))
            if isinstance(started, Lost):
                # What no process of the group can do need not be tried with every cell.
                self._dead[group] = started
                self._children.pop(group).end(0.0)
                return started
        child.ask(question)
        found = child.answer(self._limits.deadline)
        if child.silent:
            self._children.pop(group).end(0.0)
        assert found is not None
        return found


def check_groups(groups: int) -> None:
    """Refuse more processes than a machine should be asked for.

    Raises:
        UnsupportedOption: If there would be too many.
    """
    if groups > MOST_GROUPS:
        raise UnsupportedOption(
            f"--isolate starts a process for each subject in each series, at most {MOST_GROUPS}, "
            f"got {groups}: name fewer, such as --attention full."
        )


def _group(key: Key) -> Series:
    name, case = key
    return name, case.series


@final
class _Child:
    """One process.

    Attributes:
        cells: The cells that are ready in it.
        silent: Whether it failed to answer; then it is of no more use.
    """

    __slots__ = ("_connection", "_ended", "_process", "cells", "silent")

    def __init__(self, runner: InProcess, recipe: Recipe, memory: int | None) -> None:
        # Not forked: threads of PyTorch would be missing in it, and what this process holds there.
        context = get_context("spawn")
        self.cells: set[Key] = set()
        self.silent = False
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=serve,
            args=(theirs, recipe),
            kwargs={"runner": runner, "memory": memory},
            daemon=True,
        )
        with _without_interrupts():
            self._process.start()
        self._ended = _watch(self._process)
        # Ours alone holds it open, so that each end notices when the other is gone.
        theirs.close()

    def ask(self, question: Question) -> None:
        """Send a question; a process that is gone says so when it should answer."""
        with suppress(BrokenPipeError, ConnectionResetError):
            self._connection.send(question)

    def answer(self, deadline: float | None) -> Answer | None:
        """Wait for an answer, at most so many seconds; None is what a process begins with."""
        self.silent = True
        try:
            # What it started may hold the pipe open when it is gone.
            ready = wait([self._connection, self._ended], deadline)
            if not ready:
                return Lost("deadline", f"no answer within {show(deadline or 0.0, 'seconds')}.")
            if not self._connection.poll():
                return self._lost()
            answer: Answer | None = self._connection.recv()
        except (EOFError, ConnectionResetError):
            return self._lost()
        self.silent = False
        return answer

    def release(self) -> None:
        """Let it know that no question follows."""
        self._connection.close()

    def end(self, seconds: float) -> None:
        """End it and what it started, by force if it does not end within some seconds."""
        self.release()
        wait([self._ended], seconds)
        self._kill()
        self._process.join()
        if self._ended != self._process.sentinel:
            os.close(self._ended)
        self._process.close()

    def _lost(self) -> Lost:
        """Say how it ended."""
        wait([self._ended], _END_SECONDS)
        self._kill()
        self._process.join()
        return _ending(self._process.exitcode or 0)

    def _kill(self) -> None:
        """End it and its group."""
        pid = self._process.pid
        assert pid is not None
        # While nobody was told how it ended, no other process can have its number.
        with suppress(ChildProcessError, ProcessLookupError, PermissionError):
            if hasattr(os, "waitid"):
                os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                os.killpg(pid, signal.SIGKILL)
        self._process.kill()


def _watch(process: BaseProcess) -> int:
    """Return what can be waited for until a process ends, whatever it started lives on."""
    if hasattr(os, "pidfd_open"):
        assert process.pid is not None
        return os.pidfd_open(process.pid)
    return process.sentinel


def _ending(code: int) -> Lost:
    """Say how a process ended that should not have."""
    if code >= 0:
        return Lost("crash", f"its process ended with exit code {code}.")
    name = signal.Signals(-code).name
    guess = ", as a system that is out of memory does" if -code == signal.SIGKILL else ""
    return Lost("crash", f"its process was killed by {name}{guess}.")


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Start processes that never see Ctrl-C, which is the parent's to answer."""
    # It would let them through again when it starts, with the first process.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
