"""A run on disk: a folder with one JSON line a row, which only ever grows.

Line 1 of `samples.jsonl` is the environment, every other a sample, a cell that was skipped, or the
environment of a process that went on with the run. Each is written by one call at the end of the
file and closed at once: whatever ends the process takes at most the last line, and what an earlier
call wrote outlives kill -9. A power cut may take more: to force each row onto a fast disk took
232 us instead of 22, on others it takes milliseconds, and it makes the disk busy while the next
call is timed. Two processes must not write one run.
"""

import json
import os
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from errno import ENOTDIR
from pathlib import Path
from typing import Any, final

from attncost.core.errors import ShapeError, StorageError
from attncost.measure.store.reading import FILE, rows
from attncost.measure.store.sample import SCHEMA, Sample


@final
@dataclass(frozen=True, slots=True)
class Run:
    """A run that rows are added to.

    Attributes:
        path: Its folder.
    """

    path: Path

    @classmethod
    def create(cls, path: Path, environment: Mapping[str, Any]) -> "Run":
        """Make the folder and write the environment.

        Raises:
            StorageError: If there is something at that path, or it cannot be written.
        """
        line = _line({"schema": SCHEMA, "kind": "environment", **environment})
        check_new(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            _write(path / FILE, line, os.O_CREAT | os.O_EXCL)
        except OSError as error:
            raise _unwritable(path, error) from error
        return cls(path)

    @classmethod
    def reopen(cls, path: Path) -> "Run":
        """Go on with a run: whoever does appends a row of kind `resumed` first.

        A last line that was cut off stays, and gets its end.

        Raises:
            ShapeError: If this is no run, or one of an older schema, whose rows say less.
            StorageError: If it cannot be read or written.
        """
        found = rows(path)
        if found.environment["schema"] != SCHEMA:
            raise ShapeError(
                f"{path} is of schema {found.environment['schema']}, to which no row of {SCHEMA} "
                "can be added: measure into a new folder."
            )
        run = cls(path)
        try:
            if not (path / FILE).read_bytes().endswith(b"\n"):
                _write(path / FILE, b"\n")
        except OSError as error:
            raise run._full(error) from error
        return run

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one row to the end.

        Raises:
            StorageError: If the disk is full or the folder gone; all earlier rows are kept.
        """
        try:
            _write(self.path / FILE, _line(row))
        except OSError as error:
            raise self._full(error) from error

    def _full(self, error: OSError) -> StorageError:
        kept, file = "", self.path / FILE
        with suppress(OSError):
            if file.is_file():
                held = file.read_bytes().count(b"\n")
                kept = f", {held:,} rows are kept in it"
        return StorageError(
            f"{self.path} takes no further row ({error.strerror}){kept}: once that is mended, "
            f"attncost measure --resume {shlex.quote(str(self.path))} goes on."
        )


def read(path: Path) -> tuple[dict[str, Any], list[Sample]]:
    """Return the environment and the samples of a run, in the order in which they were taken.

    What a reader should know beside them stands in `environment["notes"]`: lines that were cut
    off, and cells that were skipped.

    Raises:
        ShapeError: If this is no run; the message names file and line.
        StorageError: If it cannot be read.
    """
    found = rows(path)
    return {**found.environment, "notes": list(found.notes)}, list(found.samples)


def check_new(path: Path) -> None:
    """Refuse a folder that no run can be made in.

    Raises:
        StorageError: If there is something at that path, or no folder can be.
    """
    there = next(one for one in (path.absolute(), *path.absolute().parents) if one.exists())
    try:
        taken = there == path.absolute() and (not path.is_dir() or any(path.iterdir()))
    except OSError as error:
        raise _unwritable(path, error) from error
    if taken:
        raise StorageError(
            f"{path} exists already: choose another name, or remove it; a run is never overwritten."
        )
    if not there.is_dir():
        raise _unwritable(path, NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR)))


def _line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, allow_nan=False).encode("ascii") + b"\n"


def _write(file: Path, line: bytes, flags: int = 0) -> None:
    """Write to the end of a file that is there, all or nothing."""
    flags |= os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0)
    descriptor = os.open(file, flags, 0o666)
    try:
        before = os.fstat(descriptor).st_size
        try:
            # One call, unless the disk has room for a part only: the next one says what is wrong.
            while line:
                line = line[os.write(descriptor, line) :]
        except OSError:
            with suppress(OSError):
                os.ftruncate(descriptor, before)
            raise
    finally:
        os.close(descriptor)


def _unwritable(path: Path, error: OSError) -> StorageError:
    return StorageError(
        f"{path} cannot be written ({error.strerror or error}): name a folder that can be."
    )
