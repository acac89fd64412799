"""Where cells are made ready and sampled: in this process, or in others (see `apart`).

A cell that cannot run ends nothing. It is lost, for a reason in words, and the others go on.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, TypeAlias, final

import torch

from attncost.core.errors import AttnCostError, ShapeError
from attncost.measure.clocks.clock import Clock, Run
from attncost.measure.laws.predicted import Predicted
from attncost.measure.sweep.case import Case
from attncost.measure.sweep.cell import Cell, Known, Ready, Row, lack_of_memory, ready, sample
from attncost.measure.sweep.subject import Subject

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


class Bench(ABC):
    """Where cells are made ready and sampled, one at a time; used in a `with`."""

    __slots__ = ()

    @abstractmethod
    def __enter__(self) -> "Bench": ...

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


def nothing_lacks(subject: Subject, case: Case, peaks: Mapping[int, int]) -> None:
    """Let every cell be tried."""


@final
class Here(Bench):
    """This process. An error that is no lack of memory ends the sweep.

    Args:
        clock: What times a call.
        lack: Says what a cell lacks to run, from the peaks of its series; None if it will.
    """

    __slots__ = ("_cells", "_lack", "_threads", "clock")

    def __init__(self, clock: Clock, lack: Lack = nothing_lacks) -> None:
        self.clock, self._lack = clock, lack
        self._cells: dict[Key, Cell] = {}

    def __enter__(self) -> "Here":
        self._threads = torch.get_num_threads()
        torch.set_num_threads(1)
        # The first vector mathematics of a process is racy in torch 2.13; let it be this.
        torch.ones(1 << 14).exp().log()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._cells.clear()
        torch.set_num_threads(self._threads)

    def predict(self, subject: Subject, case: Case) -> Predicted | Lost:
        """Ask the subject."""
        try:
            return subject.predict(case)
        except AttnCostError as error:
            return Lost("unsupported", str(error))

    def ready(
        self, subject: Subject, case: Case, *, known: Known | None, peaks: Mapping[int, int]
    ) -> Ready | Lost:
        """Make a cell ready; an error that is no lack of memory is raised."""
        if case.device != self.clock.device:
            raise ShapeError(
                f"a case on {case.device} needs its clock, got that of {self.clock.device}."
            )
        if known is None and (reason := self._lack(subject, case, peaks)):
            return Lost("prediction", reason)
        try:
            with _threads(case.threads):
                call = _prepared(subject, case)
                if isinstance(call, Lost):
                    return call
                cell, found = ready(subject, case, call, clock=self.clock, known=known)
        except (MemoryError, RuntimeError) as error:
            return _lost(error)
        self._cells[subject.name, case] = cell
        return found

    def sample(self, key: Key, visit: int) -> tuple[Row, ...] | Lost:
        """Time a cell; one that is lost is forgotten, and what it held is freed."""
        cell = self._cells[key]
        try:
            with _threads(cell.case.threads):
                return (sample(cell, visit, clock=self.clock),)
        except (MemoryError, RuntimeError) as error:
            del self._cells[key]
            return _lost(error)


def _prepared(subject: Subject, case: Case) -> Run | Lost:
    # Tensors made in inference mode could not be trained later.
    with torch.no_grad():
        try:
            return subject.prepare(case)
        except AttnCostError as error:
            return Lost("unsupported", str(error))


def _lost(error: MemoryError | RuntimeError) -> Lost:
    """Return what was lost for lack of memory or of an operation, and raise any other error."""
    if reason := lack_of_memory(error):
        return Lost("memory", reason)
    # PyTorch has not every operation in every type.
    if isinstance(error, NotImplementedError) and not isinstance(error, AttnCostError):
        return Lost("unsupported", str(error).partition("\n")[0])
    raise error


@contextmanager
def _threads(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    if number == before:
        yield
        return
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
