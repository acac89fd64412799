"""A run as a table for other tools: one row a sample, in CSV or Parquet.

Labels become columns `label_...`. What times depend on becomes columns `environment_...`, because
a run that was gone on with has more than one environment, and so that tables of several runs can be
put together; Parquet also keeps the first row of the run whole, as JSON in its metadata. The table
is built in memory, about 1 kB a sample, and put in its place when it is complete.
"""

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeAlias, final

from attncost.core.errors import ShapeError, StorageError, UnsupportedOption
from attncost.core.files import put
from attncost.measure.store.differences import COMPARED
from attncost.measure.store.reading import Rows
from attncost.measure.store.sample import SCHEMAS, UNKNOWN_TO_1, Sample

Columns: TypeAlias = dict[str, list[Any]]
_FACTS: Final = ("started", *COMPARED)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Exported:
    """What was written.

    Attributes:
        file: Where.
        format: `csv` or `parquet`.
        rows: Samples, those of the warm-up among them.
        columns: Their names.
    """

    file: Path
    format: str
    rows: int
    columns: tuple[str, ...]


def export(found: Rows, file: Path, *, force: bool = False) -> Exported:
    """Write the samples of a run as a table, in the format that the file's name ends with.

    Args:
        found: The run.
        file: The table.
        force: Whether a file that is there may be replaced.

    Raises:
        ShapeError: If the name ends with no known format, or a number is too long for it.
        StorageError: If the file is there already, or cannot be written.
        UnsupportedOption: If a package is missing.
    """
    name = file.suffix.lower().removeprefix(".")
    if name not in _FORMATS:
        raise ShapeError(f"a table must end with .csv or .parquet, got {file.name!r}.")
    if file.exists() and not force:
        raise StorageError(f"{file} exists already: choose another name, or --force to replace it.")
    columns = table(found)
    content = _FORMATS[name](columns, found.environment)
    put(file, content, give="name a file that can be")
    return Exported(file=file, format=name, rows=len(found.samples), columns=tuple(columns))


def table(found: Rows) -> Columns:
    """Return the columns of a run; None where a row has nothing in one."""
    columns, parts = _counted(found), list(found.parts)
    for name in _FACTS:
        if any(environment.get(name) is not None for environment, _ in parts):
            columns[f"environment_{name}"] = [
                value
                for environment, taken in parts
                for value in len(taken) * [_flat(environment.get(name))]
            ]
    return columns


def _counted(found: Rows) -> Columns:
    """Return what the samples themselves hold; what nobody counted is no zero."""
    unknown = UNKNOWN_TO_1 if found.environment["schema"] == SCHEMAS[0] else set[str]()
    if not found.environment.get("waiting_counted", True):
        unknown = {*unknown, "waited_seconds"}
    columns: Columns = {}
    for name in (one.name for one in fields(Sample)):
        if name == "labels":
            for label in dict.fromkeys(label for one in found.samples for label in one.labels):
                columns[f"label_{label}"] = [one.labels.get(label) for one in found.samples]
        elif name in unknown:
            columns[name] = [None] * len(found.samples)
        else:
            columns[name] = [getattr(one, name) for one in found.samples]
    return columns


def _flat(value: Any) -> Any:  # noqa: ANN401 -- whatever JSON has
    """Write as words what is no single value."""
    if isinstance(value, Mapping):
        return " ".join(f"{name}={one}" for name, one in value.items())
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _csv(columns: Columns, _: Mapping[str, Any]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(map(_words, zip(*columns.values(), strict=True)))
    # A fact of the environment may hold half a character, as a path does that is no text.
    return text.getvalue().encode(errors="backslashreplace")


def _words(row: tuple[Any, ...]) -> list[Any]:
    """Write truth values as JSON does, which R and pandas both read."""
    return [str(value).lower() if isinstance(value, bool) else value for value in row]


def _parquet(columns: Columns, environment: Mapping[str, Any]) -> bytes:
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise UnsupportedOption(
            "a table in Parquet needs pyarrow: pip install 'attncost[parquet]', or name a .csv."
        ) from error
    try:
        found = arrow.table(columns, metadata={"attncost": json.dumps(environment)})
    except (OverflowError, UnicodeEncodeError, arrow.ArrowException) as error:
        raise ShapeError(f"Parquet cannot hold a column ({error}): name a .csv.") from error
    sink = io.BytesIO()
    parquet.write_table(found, sink, compression="zstd")
    return sink.getvalue()


_FORMATS: Final[Mapping[str, Callable[[Columns, Mapping[str, Any]], bytes]]] = {
    "csv": _csv,
    "parquet": _parquet,
}
