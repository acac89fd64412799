"""Runs in a folder: what is finished is not done again, and what is not goes on.

    FOLDER/window-width=16/seed-0/   checkpoints, log, and once it is finished result.json
    FOLDER/times.json                what a forward pass took, all attentions side by side

A file is written beside its place and then put there at once, so that it is whole or not there.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from attncost.core.errors import ShapeError, StorageError
from attncost.train.quality.tasks.comparison import Comparison
from attncost.train.quality.tasks.run import Run

SCHEMA: Final = "attncost.quality.run/1"
_RESULT: Final = "result.json"


def place(folder: Path, name: str, seed: int) -> Path:
    """Return the folder of a run, which any name is safe in."""
    safe = quote(name.replace(":", "-"), safe="=, ()").replace(".", "%2E")
    return folder / safe / f"seed-{seed}"


def finished(folder: Path, asked: Comparison) -> dict[tuple[str, int], Run]:
    """Return the runs that are finished already.

    Raises:
        ShapeError: If one is of other settings, or its file is no result.
        StorageError: If one cannot be read.
    """
    found = {}
    for name, seed in asked.runs:
        path = place(folder, name, seed) / _RESULT
        row = read(path)
        if row is not None:
            _check_same(path, row, asked)
            found[name, seed] = _run(path, row)
    return found


def keep(folder: Path, asked: Comparison, run: Run) -> None:
    """Write what came of a run.

    Raises:
        StorageError: If it cannot be written.
    """
    row = {"schema": SCHEMA, "settings": asked.settings, **asdict(run)}
    write(place(folder, run.attention, run.seed) / _RESULT, row)


def check_folder(folder: Path) -> None:
    """Make a folder, and refuse one that cannot be written.

    Raises:
        StorageError: If it is a file, or nothing can be written in it.
    """
    probe = folder / f".attncost-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise StorageError(
            f"{folder} cannot hold runs ({error.strerror}): choose another folder."
        ) from error


def read(path: Path) -> dict[str, Any] | None:
    """Return what a file holds, or None if there is none.

    Raises:
        ShapeError: If it is none of ours.
        StorageError: If it cannot be read.
    """
    try:
        row = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StorageError(f"{path} cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise ShapeError(f"{path} is no JSON ({error}): remove it.") from error
    if not isinstance(row, dict) or row.get("schema") != SCHEMA:
        raise ShapeError(f"{path} is not of schema {SCHEMA}: remove it, or take another folder.")
    return row


def write(path: Path, row: Mapping[str, Any]) -> None:
    """Write a file as a whole.

    Raises:
        StorageError: If it cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("w", encoding="utf-8") as file:
            json.dump(row, file, allow_nan=False)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise StorageError(f"{path} cannot be written ({error.strerror}).") from error


def _check_same(path: Path, row: Mapping[str, Any], asked: Comparison) -> None:
    """Refuse what would be compared although it is not the same."""
    before, now = row.get("settings"), asked.settings
    if not isinstance(before, dict):
        raise ShapeError(f"{path} does not say its settings: remove it.")
    for name, value in now.items():
        if before.get(name) != value:
            raise ShapeError(
                f"{path} is of {name}={before.get(name)}, and {name}={value} is asked for: take "
                "another folder."
            )


def _run(path: Path, row: Mapping[str, Any]) -> Run:
    values = {name: value for name, value in row.items() if name not in ("schema", "settings")}
    try:
        curve = tuple((int(step), float(loss)) for step, loss in values.pop("curve"))
        return Run(**values, curve=curve)
    except (KeyError, TypeError, ValueError) as error:
        raise ShapeError(f"{path} is no result of a run ({error}): remove it.") from error
