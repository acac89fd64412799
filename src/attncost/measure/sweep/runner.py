"""Where cells are made ready and sampled: in this process, or in others (see `apart`).

A cell that cannot run ends nothing. It is lost, for a reason in words, and the others go on.
"""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, TypeAlias, final

import torch

from attncost.core.errors import AttnCostError, ShapeError
from attncost.measure.clocks.interface import Clock, Run
from attncost.measure.clocks.threads import threads
from attncost.measure.laws.predicted import Predicted
from attncost.measure.subjects.case import Case
from attncost.measure.subjects.subject import Subject
from attncost.measure.sweep.cell import Cell, Known, Ready, Row, lack_of_memory, ready, sample

# The name of a subject and its case: what tells a cell from all others of a sweep.
Key: TypeAlias = tuple[str, Case]
Cause: TypeAlias = Literal["unsupported", "prediction", "budget", "memory", "deadline", "crash"]
Lack: TypeAlias = Callable[[Subject, Case, Mapping[int, int]], str | None]


@final
@dataclass(frozen=True, slots=True)
class Lost:
    """A cell that cannot run.

    Attributes:
        cause: What kept it: that it is `unsupported`, a `prediction` of its memory, the `budget`,
            the `memory` that there was, a `deadline`, or a `crash`.
        reason: The same in words.
    """

    cause: Cause
    reason: str


class Runner(ABC):
    """Where cells are made ready and sampled, one at a time; used in a `with`."""

    __slots__ = ()

    @abstractmethod
    def __enter__(self) -> "Runner": ...

    @abstractmethod
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    @abstractmethod
    def predict(self, subject: Subject, case: Case) -> Predicted | Lost:
        """Return what the formula says of a call."""

    @abstractmethod
    def ready(
        self, subject: Subject, case: Case, *, known: Known | None, peaks: Mapping[int, int]
    ) -> Ready | Lost:
        """Make a cell ready.

        Args:
            subject: What runs.
            case: At which sizes, and how.
            known: What was found out when it was ready before; None if it never was.
            peaks: The bytes that the same series held at shorter lengths.
        """

    @abstractmethod
    def sample(self, key: Key, visit: int) -> tuple[Row, ...] | Lost:
        """Return a row of a ready cell, after those of warming up, if it had to be."""


def lost(error: Exception) -> Lost:
    """Return what an error means for the cell in which it was raised."""
    if reason := lack_of_memory(error):
        return Lost("memory", reason)
    said = str(error).partition("\n")[0]
    # PyTorch has not every operation in every type.
    if isinstance(error, AttnCostError | NotImplementedError):
        return Lost("unsupported", said)
    return Lost("crash", f"{type(error).__name__}: {said}" if said else type(error).__name__)


def nothing_lacks(subject: Subject, case: Case, peaks: Mapping[int, int]) -> None:
    """Let every cell be tried."""


@final
class InProcess(Runner):
    """This process. A call that aborts it ends the sweep; what it raises does not.

    What a model prints goes to stderr, as stdout belongs to whoever asked for the sweep.

    Args:
        clock: What times a call.
        lack: Says what a cell lacks to run, from the peaks of its series; None if it will.
    """

    __slots__ = ("_cells", "_lack", "_single", "clock")

    def __init__(self, clock: Clock, lack: Lack = nothing_lacks) -> None:
        self.clock, self._lack = clock, lack
        self._cells: dict[Key, Cell] = {}

    def __enter__(self) -> "InProcess":
        self._single = threads(1)
        self._single.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cells.clear()
        self._single.__exit__(kind, error, trace)

    def predict(self, subject: Subject, case: Case) -> Predicted | Lost:
        """Ask the subject."""
        try:
            with redirect_stdout(sys.stderr):
                return subject.predict(case)
        except Exception as error:  # noqa: BLE001 -- theirs, and it becomes a row
            return lost(error)

    def ready(
        self, subject: Subject, case: Case, *, known: Known | None, peaks: Mapping[int, int]
    ) -> Ready | Lost:
        """Make a cell ready."""
        if case.device != self.clock.device:
            raise ShapeError(
                f"a case on {case.device} needs its clock, got that of {self.clock.device}."
            )
        with redirect_stdout(sys.stderr):
            reason = self._lack(subject, case, peaks) if known is None else None
        if reason:
            return Lost("prediction", reason)
        with redirect_stdout(sys.stderr), threads(case.threads):
            call = _prepared(subject, case)
            if isinstance(call, Lost):
                return call
            try:
                cell, found = ready(subject, case, call, clock=self.clock, known=known)
            except AttnCostError:
                raise  # Ours: nothing can be timed now.
            except Exception as error:  # noqa: BLE001 -- theirs, and it becomes a row
                return lost(error)
        self._cells[subject.name, case] = cell
        return found

    def sample(self, key: Key, visit: int) -> tuple[Row, ...] | Lost:
        """Time a cell; one that is lost is forgotten, and what it held is freed."""
        cell = self._cells[key]
        try:
            with redirect_stdout(sys.stderr), threads(cell.case.threads):
                return (sample(cell, visit, clock=self.clock),)
        except AttnCostError:
            raise
        except Exception as error:  # noqa: BLE001 -- theirs, and it becomes a row
            del self._cells[key]
            return lost(error)


def _prepared(subject: Subject, case: Case) -> Run | Lost:
    # Tensors made in inference mode could not be trained later.
    with torch.no_grad():
        try:
            return subject.prepare(case)
        except Exception as error:  # noqa: BLE001 -- theirs, and it becomes a row
            return lost(error)
