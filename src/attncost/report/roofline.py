"""The roofline chart: each operation by its FLOPs for a byte and its FLOPs a second.

attainable FLOP/s = min(peak, intensity * bandwidth)      Williams et al. 2009,
                                                          doi:10.1145/1498765.1498785
"""

from collections.abc import Mapping
from typing import Final

from attncost.core.units import show
from attncost.draw.chart import Axis, Chart, Point, Series
from attncost.measure.speed.calibration import Calibration
from attncost.measure.speed.predict import PredictedTime
from attncost.report.document import Column, Figure, Table

# As many as a chart can tell apart, the roof left aside.
_MOST: Final = 7


def roofline(
    times: Mapping[str, PredictedTime], calibration: Calibration, *, command: str
) -> Figure | None:
    """Return where the operations of several calls lie under a machine's roof.

    Args:
        times: Of each call, by what it is called.
        calibration: Of the machine, for the roof.
        command: What repeats it.
    """
    rows = [
        (name, row.operation, row.flops / row.bytes, row.flops / row.seconds, row.seconds)
        for name, time in times.items()
        for row in time.by_operation
        if row.flops and row.bytes and row.seconds
    ]
    if not rows:
        return None
    peak, bandwidth = calibration.flops_per_second, calibration.bytes_per_second
    ridge = peak / bandwidth
    left, right = min(ridge / 8, *(row[2] / 2 for row in rows)), max(ridge, *(r[2] for r in rows))
    roof = (
        Point(left, left * bandwidth),
        Point(ridge, peak),
        Point(2 * right, peak),
    )
    operations = list(dict.fromkeys(row[1] for row in rows))[:_MOST]
    series = (
        Series("roof", roof),
        *(
            Series(
                name.removeprefix("aten::"),
                tuple(sorted((Point(r[2], r[3]) for r in rows if r[1] == name), key=_by_x)),
                style="markers",
            )
            for name in operations
        ),
    )
    chart = Chart(
        title="Operations under the roof of this machine",
        description=(
            f"The roof rises with the FLOPs for a byte up to {show(peak, 'rate')}; markers are "
            "operations at their predicted speeds."
        ),
        x=Axis(label="FLOPs for a byte"),
        y=Axis(label="FLOP/s", unit="rate"),
        series=series,
    )
    table = Table(
        title="Operations under the roof",
        columns=(
            Column("call"),
            Column("operation"),
            Column("FLOPs for a byte", "count"),
            Column("speed", "rate"),
            Column("time", "seconds"),
            Column("of the roof", "percent"),
        ),
        rows=tuple((*row, row[3] / min(peak, row[2] * bandwidth)) for row in rows),
        command=command,
    )
    return Figure(chart, table)


def _by_x(point: Point) -> float:
    return point.x
