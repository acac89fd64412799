"""Tables that somebody published: a CSV with the header `length,milliseconds`.

The formula beside them is that of one self-attention layer: 4 n d² + 2 n² d multiply-adds, for
the four projections of d features and the two products between queries, keys and values.
"""

import csv
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final, final

from attncost.core.errors import ShapeError
from attncost.core.files import words
from attncost.measure.laws.predicted import Predicted

LAYER: Final = "4nd² + 2n²d"
# As people print them; Python would take 6_4 and digits of other scripts as well.
_LENGTH: Final = re.compile("[0-9]+")
_VALUE: Final = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEADER: Final = ["length", "milliseconds"]
# Decades beyond what anybody timed, and well within what float64 can square.
_MOST: Final = 10**12
# Bytes of a table, which nobody prints.
_LONGEST: Final = 1 << 20
# Characters of a wrong line that a message repeats.
_SHOWN: Final = 60


@final
@dataclass(frozen=True, slots=True)
class Published:
    """A table as printed.

    Attributes:
        seconds: One value a length.
        rounding: Half of the last digit printed, in seconds, of the value with most decimals.
    """

    seconds: Mapping[int, tuple[float]]
    rounding: float


def layer(d_model: int) -> Callable[[int], Predicted]:
    """Return the FLOPs of a self-attention layer by length; a multiply-add is 2.

    Raises:
        ShapeError: If `d_model` is not positive.
    """
    if d_model < 1:
        raise ShapeError(f"d_model must be at least 1, got {d_model}.")

    def predict(n: int) -> Predicted:
        return Predicted(linear=8 * n * d_model**2, core=4 * n**2 * d_model)

    return predict


def read_table(path: Path) -> Published:
    """Read a table; blank lines and lines that begin with # are passed over.

    Raises:
        ShapeError: If it is not of this form; the message names file and line.
        StorageError: If it cannot be read as text.
    """
    give = f"name a run's folder or a CSV with the header {','.join(_HEADER)}"
    lines = words(path, most=_LONGEST, give=give).splitlines()
    rows = [
        (number, _cells(path, number, line))
        for number, line in enumerate(lines, start=1)
        if line.strip() and not line.startswith("#")
    ]
    number, header = rows[0] if rows else (1, [])
    if header != _HEADER:
        raise _wrong(path, number, f"the header {','.join(_HEADER)}", header)
    return _published(path, rows[1:])


def _cells(path: Path, number: int, line: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line]))]
    except csv.Error as error:
        raise _wrong(path, number, f"a line of CSV, not one with a {error}", [line]) from error


def _published(path: Path, rows: list[tuple[int, list[str]]]) -> Published:
    printed: dict[int, Decimal] = {}
    for number, cells in rows:
        length, value = _row(path, number, cells)
        if printed and length <= max(printed):
            raise _wrong(path, number, f"a length greater than {max(printed)}", cells)
        printed[length] = value
    if len(printed) < 2:
        raise ShapeError(f"{path}: a law needs 2 rows or more under the header, got {len(rows)}.")
    decimals = min(int(value.as_tuple().exponent) for value in printed.values())
    return Published(
        seconds={length: (float(value) / 1000,) for length, value in printed.items()},
        rounding=0.5 * 10.0**decimals / 1000,
    )


def _row(path: Path, number: int, cells: list[str]) -> tuple[int, Decimal]:
    wanted = f"a whole number of tokens and positive milliseconds up to {_MOST:,}, such as 128,1.2"
    try:
        length, milliseconds = cells
        printed = _LENGTH.fullmatch(length) and _VALUE.fullmatch(milliseconds)
        tokens, value = int(length), Decimal(milliseconds)
    except (ValueError, InvalidOperation) as error:
        raise _wrong(path, number, wanted, cells) from error
    if not printed or not 1 <= tokens <= _MOST or not 1 / _MOST <= value <= _MOST:
        raise _wrong(path, number, wanted, cells)
    return tokens, value


def _wrong(path: Path, number: int, wanted: str, cells: list[str]) -> ShapeError:
    got = ",".join(cells) or "none"
    shown = got if len(got) <= _SHOWN else f"{got[:_SHOWN]}…"
    return ShapeError(f"{path}, line {number}: must be {wanted}, got {shown}.")
