"""How far approximations are from exact attention: a table and a picture of each kind of input."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from attncost.draw.chart import Axis, Chart, Point, Series
from attncost.report.document import Column, Figure, Finding, Section, Table
from attncost.train.quality.errors import FLOOR, LINFORMER, WINDOW, ErrorRow

# What is exact in float64 but for its last digits has no place on a logarithmic axis.
_ROUNDING: Final = 1e-9


def errors_section(found: Mapping[str, Sequence[ErrorRow]], command: str) -> Section:
    """Return what a report says of errors.

    Args:
        found: Errors by what they are of, such as "random numbers".
        command: What reproduces them.
    """
    return Section(
        title="How far approximations are from exact attention",
        text=(
            "The relative error of what attention returns, computed in float64. The dial is what a "
            "query reads in place of all keys: keys of a window, rows of a projection, rank.",
            "Linformer has random projections here, and training is what it lives from. Best rank "
            "is the matrix of weights cut to that rank, the floor of all that is low-rank, and "
            "takes all n x n weights to find. Linear attention has no dial but the features of a "
            "head.",
        ),
        blocks=tuple(_figure(what, rows, command) for what, rows in found.items() if rows),
    )


def errors_finding(found: Mapping[str, Sequence[ErrorRow]], command: str) -> tuple[Finding, ...]:
    """Return the sentence that compares a window with a projection of as many keys."""
    for what, rows in found.items():
        each = _by_method(rows)
        dials = each.get(WINDOW, {}).keys() & each.get(LINFORMER, {}).keys()
        if what.startswith("activations") and dials:
            dial = sorted(dials)[len(dials) // 2]
            window, low, floor = (each[name][dial].error for name in (WINDOW, LINFORMER, FLOOR))
            return (
                Finding(
                    key="errors",
                    text=(
                        f"Of {dial} keys, a window errs by {window:.2g}, a random projection by "
                        f"{low:.2g}, the best rank by {floor:.2g}."
                    ),
                    values={"dial": dial, "window": window, "linformer": low, "floor": floor},
                    command=command,
                ),
            )
    return ()


def _figure(what: str, rows: Sequence[ErrorRow], command: str) -> Figure:
    title, each = f"Error by dial, of {what}", _by_method(rows)
    dials = sorted({row.dial for row in rows})
    return Figure(
        Chart(
            title=title,
            description="The relative error of approximations over their dial, lower is better.",
            x=Axis(label="keys, rows, rank or features", unit="tokens"),
            y=Axis(label="relative error", unit="count"),
            series=tuple(_series(each)),
        ),
        Table(
            title=title,
            columns=(Column("dial", "tokens"), *(Column(name, "count") for name in each)),
            rows=tuple(
                (dial, *(of[dial].error if dial in of else None for of in each.values()))
                for dial in dials
            ),
            note=(
                f"{title}; mean over layers, where there are several."
                if what.startswith("activations")
                else f"{title}, of the sizes of one layer."
            ),
            command=command,
        ),
    )


def _series(each: dict[str, dict[int, ErrorRow]]) -> Iterator[Series]:
    """Yield a line for each method, and a marker for what has no dial; rounding is left out."""
    for name, of in each.items():
        points = tuple(
            Point(dial, one.error, one.low, one.high)
            for dial, one in of.items()
            if one.low > _ROUNDING
        )
        if points:
            yield Series(name, points, style="line" if len(of) > 1 else "markers")


def _by_method(rows: Sequence[ErrorRow]) -> dict[str, dict[int, ErrorRow]]:
    found: dict[str, dict[int, ErrorRow]] = {}
    for row in rows:
        found.setdefault(row.method, {})[row.dial] = row
    return found
