"""What is kept of a run: its rows, and in a folder their log and a checkpoint.

The first checkpoint comes before the first row, and a row is on the disk before the checkpoint that
counts its step: whatever ends the process, there are weights to go on from, and a row of each step
that made them. A folder that is refused holds afterwards what it held, and so does the model.
"""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import torch

from attncost.core.errors import StorageError
from attncost.core.notebook import as_html
from attncost.measure.clocks.clock import clock_for
from attncost.measure.store.environment import environment
from attncost.train.checkpoint import Pace, Trainee, read, restore, save
from attncost.train.log import Log
from attncost.train.loop.ending import diverges
from attncost.train.telemetry import Row


@final
@dataclass(frozen=True, slots=True)
class Trained:
    """What a run told.

    Attributes:
        rows: Of each step, also of those that an earlier process made.
        notes: What a reader should know: steps that came out otherwise when they were computed
            again.
        diverged: Whether the last step had a loss or a gradient that is not finite; it changed no
            weights.
    """

    _repr_html_ = as_html

    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    diverged: bool = False


@final
class Record:
    """The rows of a run, and its folder if it has one.

    Args:
        trainee: What learns; it gets what a checkpoint in the folder holds.
        run: Which run this is, see `identity`.
        folder: Where log and checkpoint are kept.

    Raises:
        StorageError: If the folder holds another run or something else, or cannot be written.
        UnsupportedOption: If safetensors is missing, or something has a state that is no tensor.
    """

    def __init__(self, trainee: Trainee, run: Mapping[str, Any], folder: Path | None) -> None:
        self._scaler = trainee.scaler
        self._kept = None if folder is None else _Kept(trainee, run, folder)
        self._rows: list[Row] = [] if self._kept is None else [*self._kept.before]

    def __len__(self) -> int:
        """Return how many steps are done."""
        return len(self._rows)

    def add(self, row: Row) -> None:
        """Keep a row, and now and then what has been learned."""
        self._rows.append(row)
        if self._kept is not None:
            self._kept.add(row)

    def end(self) -> Trained:
        """Keep what has been learned, and return what was told."""
        notes: tuple[str, ...] = ()
        if self._kept is not None:
            self._kept.save()
            notes = self._kept.log.notes
        diverged = bool(self._rows) and diverges(self._rows[-1], self._scaler)
        return Trained(tuple(self._rows), notes, diverged=diverged)


@final
class _Kept:
    """Log and checkpoint; for arguments see `Record`. What was done `before` has these rows."""

    def __init__(self, trainee: Trainee, run: Mapping[str, Any], folder: Path) -> None:
        self._trainee, self._run, self._folder = trainee, run, folder
        found = read(folder, trainee, run)
        self._done = self._saved = 0 if found is None else found.step
        self.log = Log(folder, run, _here(), step=self._done)
        self.before = [self._row(written) for written in self.log.steps[: self._done]]
        if found is None:
            save(folder, trainee, run, step=0)
        else:
            restore(trainee, found)
        self._pace = Pace()

    def add(self, row: Row) -> None:
        self.log.add(row.written())
        if not diverges(row, self._trainee.scaler):
            self._done = row.step + 1
        if self._pace.due:
            self.save()

    def save(self) -> None:
        """Save what is not saved yet."""
        if self._done == self._saved:
            return
        with self._pace.saving():
            self.log.settle()
            save(self._folder, self._trainee, self._run, step=self._done)
        self._saved = self._done

    def _row(self, written: Mapping[str, Any]) -> Row:
        try:
            return Row.of(written)
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(
                f"step {written['step']} of the log in {self._folder} is no row ({error!r}): name "
                "another folder."
            ) from error


def _here() -> dict[str, Any]:
    command, threads = shlex.join(sys.argv), torch.get_num_threads()
    return environment(clock_for("cpu"), command=command, threads=threads)
