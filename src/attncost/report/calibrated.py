"""The document of a calibration: what a machine does, table by table, and how sure that is."""

from dataclasses import asdict
from typing import Final

from attncost.core.units import show
from attncost.measure.speed.calibration import SCHEMA, Calibration
from attncost.report.document import Column, Document, Finding, Section, Table

_HOW: Final = (
    "Start: a call with next to nothing to do, one after the other; cold: after the nearest caches "
    "were filled with something else. Spread: of a median of samples. Between: how far a size is "
    "off that lies between two that were timed; one standard deviation each."
)


def calibration_document(found: Calibration, *, path: str, command: str) -> Document:
    """Return what was found.

    Args:
        found: The calibration.
        path: Where it was written.
        command: What repeats it.
    """
    tables = Table(
        title="Tables of operations",
        columns=(
            Column("operations"),
            Column("points", "exact"),
            Column("start", "seconds"),
            Column("cold", "seconds"),
            Column("spread", "percent"),
            Column("between", "percent"),
        ),
        rows=tuple(
            (name, len(one.rates), one.start, one.cold, one.spread, one.error)
            for name, one in found.tables.items()
        ),
        note=_HOW,
        command=command,
    )
    around = Table(
        title="Around operations",
        columns=(Column("what"), Column("time", "seconds")),
        rows=(
            ("a view", found.view),
            ("Python, for each operation", found.python),
            ("the same, after the nearest caches were filled", found.waking),
            ("a new block of memory, for each MiB", found.fault * (1 << 20)),
            ("a far MiB, beyond the nearest cache", found.far[-1][1] * (1 << 20)),
            ("a row of packed texts, in each layer", found.packed[0]),
            ("a text in it, in each layer", found.packed[1]),
        ),
        command=command,
    )
    return Document(
        schema="attncost.calibrated/1",
        title="What this machine does",
        subtitle=f"{found.environment.get('processor', '')}; float32, one thread",
        command=command,
        findings=(_finding(found, path, command),),
        sections=(Section(title="Measured", blocks=(around, tables)),),
        facts={
            "path": path,
            "schema": SCHEMA,
            "environment": dict(found.environment),
            "kernels": {name: asdict(rates) for name, rates in found.kernels.items()},
        },
    )


def _finding(found: Calibration, path: str, command: str) -> Finding:
    return Finding(
        key="calibrated",
        text=(
            f"Products reach {show(found.flops_per_second, 'rate')}, copies move "
            f"{show(found.bytes_per_second, 'bytes')} a second; all of it is in {path}."
        ),
        values={
            "flops_per_second": found.flops_per_second,
            "bytes_per_second": found.bytes_per_second,
        },
        command=command,
    )
