"""The log of a run: one JSON line a step, in a file that only grows.

Line 1 says of which run and where it began; others are steps, or where another process went on.
Each is written by one call, in 20 us: kill -9 takes at most the last line, which is cut off when a
run goes on. Steps that are then computed again are compared with their rows and not written twice.
Where one comes out otherwise, as on another machine, it is written again, and the later row counts.
A file of others, or of another run, is refused and stays as it is.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from filelock import FileLock, Timeout

from attncost.core.errors import StorageError
from attncost.measure.store.differences import differences
from attncost.train.identity import check_same

FILE: Final = "log.jsonl"
SCHEMA: Final = "attncost.training/1"
_LOCK: Final = "log.lock"
# How each log begins.
_FIRST: Final = json.dumps({"schema": SCHEMA})[:-1].encode("ascii")


@final
@dataclass(frozen=True, slots=True)
class Logged:
    """What a log holds.

    Attributes:
        header: Its first line; none if it was cut off.
        steps: The row of each step, from 0 on.
        notes: What a reader should know: steps that came out otherwise when they were computed
            again.
    """

    header: Mapping[str, Any] | None
    steps: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]


@final
class Log:
    """A log that rows are added to.

    Args:
        folder: Where it is; it is made there if it is missing.
        run: Which run it is of, see `identity`: what its first line says, beside the schema.
        environment: Where this process runs.
        step: How many steps are done, whose rows must be there.

    Raises:
        StorageError: If it cannot be read or written, is no log or that of another run, or lacks a
            step.
    """

    def __init__(
        self, folder: Path, run: Mapping[str, Any], environment: Mapping[str, Any], *, step: int
    ) -> None:
        self._file, self._environment, self._resumed = folder / FILE, dict(environment), False
        there = self._file.exists()
        found = read(folder) if there else Logged(None, (), ())
        if found.header is not None:
            check_same(self._file, found.header, run)
        if len(found.steps) < step:
            raise StorageError(
                f"{self._file} holds {len(found.steps)} steps, and the checkpoint beside it "
                f"{step}: bring the log back, or name another folder."
            )
        if there:
            _cut_off(self._file)
        self._steps, self._notes = list(found.steps), list(found.notes)
        self._begun: Mapping[str, Any] = found.header or {}
        if found.header is None:
            self._begun = {"schema": SCHEMA, "kind": "environment", **environment, **run}
            self._append(self._begun)
            self._resumed = True

    @property
    def steps(self) -> Sequence[Mapping[str, Any]]:
        """The row of each step so far."""
        return tuple(self._steps)

    @property
    def notes(self) -> tuple[str, ...]:
        """See `Logged`."""
        return tuple(self._notes)

    def add(self, row: Mapping[str, Any]) -> None:
        """Write the row of the next step, or compare it with the one that is there.

        Raises:
            StorageError: If the disk is full or the folder gone.
        """
        step = row["step"]
        if not self._resumed:
            self._append({"kind": "resumed", "at": step, **self._environment})
            self._resumed = True
        if step < len(self._steps):
            if _learned(self._steps[step]) == _learned(row):
                return
            self._notes.append(_otherwise(step, self._begun, self._environment))
            del self._steps[step:]
        self._append({"kind": "step", **row})
        self._steps.append(dict(row))

    def settle(self) -> None:
        """Force what was written onto the disk."""
        with _written(self._file), self._file.open("rb") as file:
            os.fsync(file.fileno())

    def _append(self, row: Mapping[str, Any]) -> None:
        line = json.dumps(row, allow_nan=False).encode("ascii") + b"\n"
        with _written(self._file), self._file.open("ab", buffering=0) as file:
            file.write(line)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Make a folder, and hold it: two processes must not write one run.

    Raises:
        StorageError: If another process holds it, or it cannot be written.
    """
    lock = FileLock(folder / _LOCK, timeout=0)
    with _written(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except Timeout as error:
            raise StorageError(
                f"{folder} is held by another run, which is not at its end: wait for it, or name "
                "another folder."
            ) from error
    try:
        yield
    finally:
        lock.release()


def read(folder: Path) -> Logged:
    """Return what the log of a run holds; a last line that was cut off is left out.

    Raises:
        StorageError: If there is none, or it is no log; the message names file and line.
    """
    file = folder / FILE
    try:
        *lines, torn = file.read_bytes().split(b"\n")
    except OSError as error:
        raise StorageError(
            f"{file} cannot be read ({error.strerror}): name a folder that a run was written to."
        ) from error
    if not lines and (torn.startswith(_FIRST) or _FIRST.startswith(torn)):
        return Logged(None, (), ())
    header = _row(file, 1, lines[0]) if lines else {}
    if header.get("schema") != SCHEMA:
        raise StorageError(f"{file}, line 1: must have the schema {SCHEMA}: name another folder.")
    rows = [_row(file, number, line) for number, line in enumerate(lines[1:], 2)]
    steps: list[Mapping[str, Any]] = []
    notes, here = [], header
    for number, row in enumerate(rows, 2):
        kind, step = row.pop("kind", None), row.get("step")
        if kind == "resumed":
            here = row
        elif kind == "step" and isinstance(step, int) and 0 <= step <= len(steps):
            if step < len(steps):
                notes.append(_otherwise(step, header, here))
            steps[step:] = [row]
        else:
            raise StorageError(f"{file}, line {number}: must be step {len(steps)}, or `resumed`.")
    return Logged(header, tuple(steps), tuple(notes))


def _row(file: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        raise StorageError(f"{file}, line {number}: must be an object of JSON.")
    return row


def _cut_off(file: Path) -> None:
    """Take away a last line that has no end."""
    with _written(file), file.open("r+b") as opened:
        opened.truncate(opened.read().rfind(b"\n") + 1)


def _learned(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a step came to; which layers were looked at meanwhile is no part of it."""
    return {name: said for name, said in row.items() if name != "layers"}


def _otherwise(step: int, begun: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    why = " ".join(differences(begun, here)) or "the environment is the same."
    return f"step {step} came out otherwise when it was computed again, and counts so: {why}"


@contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written ({error.strerror or error}): name a folder that can be."
        ) from error
