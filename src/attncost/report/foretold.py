"""Times that were predicted from a calibration: of lengths to plan, and beside measured ones."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Final, final

from attncost.core.units import show
from attncost.draw.chart import Axis, Chart, Point, Series
from attncost.measure.speed.predict import PredictedTime
from attncost.measure.store.summary import Measured
from attncost.report.document import Chapter, Column, Figure, Finding, Section, Table

_NOTE: Final = (
    "Low and high: 95 % interval, if the machine is as it was when it was calibrated, with one "
    "thread. Roofline: what no machine of these two rates can be faster than. Utilisation: FLOPs a "
    "second over those of its fastest product."
)
_COLUMNS: Final = (
    Column("tokens", "tokens"),
    Column("time", "seconds"),
    Column("low", "seconds"),
    Column("high", "seconds"),
    Column("roofline ≥", "seconds"),
    Column("utilisation", "percent"),
    Column("bound"),
)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Foretold:
    """A call at a length, as it was predicted.

    Attributes:
        work: `prefill` or `training`.
        length: Tokens of a sequence.
        batch: Sequences.
        time: What it would take.
    """

    work: str
    length: int
    batch: int
    time: PredictedTime


def time_sections(name: str, found: Sequence[Foretold], *, command: str) -> tuple[Section, ...]:
    """Return a section for each work with the time of every length.

    Args:
        name: Of the model.
        found: What was predicted.
        command: What repeats it.
    """
    works = dict.fromkeys(one.work for one in found)
    return tuple(
        _section(name, [one for one in found if one.work == work], command) for work in works
    )


def time_findings(name: str, found: Sequence[Foretold], *, command: str) -> tuple[Finding, ...]:
    """Return one sentence for each work, of its longest sequence."""
    findings = []
    for work in dict.fromkeys(one.work for one in found):
        last = max((one for one in found if one.work == work), key=lambda one: one.length)
        seconds = last.time.seconds
        ends = f"{show(seconds.low or 0, 'seconds')} to {show(seconds.high or 0, 'seconds')}"
        at_least = "at least " if last.time.at_least else ""
        findings.append(
            Finding(
                key=f"predicted_{work}",
                text=(
                    f"{work} of {last.length:,} tokens takes {at_least}"
                    f"{show(seconds.value or 0, 'seconds')} here by prediction ({ends}); a "
                    f"roofline says {show(last.time.roofline, 'seconds')}."
                ),
                values={"model": name, "length": last.length, "seconds": asdict(seconds)},
                command=command,
            )
        )
    return tuple(findings)


def time_facts(found: Iterable[Foretold]) -> list[dict[str, Any]]:
    """Return the same as JSON has it, operation by operation."""
    return [
        {"work": one.work, "length": one.length, "batch": one.batch, **asdict(one.time)}
        for one in found
    ]


def _section(name: str, found: list[Foretold], command: str) -> Section:
    work, batch = found[0].work, found[0].batch
    table = Table(
        title=f"Predicted time of {work}, batch {batch:,}",
        columns=_COLUMNS,
        rows=tuple(_row(one) for one in found),
        note=_NOTE,
        command=command,
    )
    last = max(found, key=lambda one: one.length)
    dearest = Table(
        title=f"Where it goes: {work}, {last.length:,} tokens",
        columns=(
            Column("operation"),
            Column("calls", "exact"),
            Column("time", "seconds"),
            Column("share", "percent"),
        ),
        rows=tuple(_operations(last.time)),
        command=command,
    )
    return Section(
        title=f"Predicted time: {name}, {work}",
        text=tuple(_unpriced(found)),
        blocks=(table, dearest),
    )


def _row(one: Foretold) -> tuple[Any, ...]:
    time = one.time
    seconds = time.seconds
    bound = "≥" if time.at_least else ""
    return (
        one.length,
        seconds.value,
        seconds.low,
        None if time.at_least else seconds.high,
        time.roofline,
        time.utilisation,
        bound,
    )


def _operations(time: PredictedTime, most: int = 8) -> Iterable[tuple[Any, ...]]:
    whole = time.seconds.value or 1.0
    for row in time.by_operation[:most]:
        yield row.operation, row.calls, row.seconds, row.seconds / whole
    for name, seconds in time.around.items():
        if seconds:
            yield name, None, seconds, seconds / whole


def _unpriced(found: Iterable[Foretold]) -> Iterable[str]:
    names = {name: None for one in found for name in one.time.unpriced}
    if names:
        yield (
            f"Nothing is known of the time of {', '.join(names)}: these are left out, and every "
            "time is at least what is said."
        )


def predicted_section(
    cells: Sequence[Measured], predicted: Mapping[tuple[str, int], PredictedTime], *, command: str
) -> Chapter | None:
    """Return predictions beside measurements; None if none belongs to a measured cell.

    Args:
        cells: What was measured.
        predicted: By subject and length, what was predicted.
        command: What repeats the measurement.
    """
    pairs = [
        (cell, predicted[cell.subject, cell.length])
        for cell in cells
        if (cell.subject, cell.length) in predicted
    ]
    if not pairs:
        return None
    errors = [(time.seconds.value or 0) / cell.seconds - 1 for cell, time in pairs]
    table = Table(
        title="Predicted and measured time",
        columns=(
            Column("subject"),
            Column("tokens", "tokens"),
            Column("predicted", "seconds"),
            Column("low", "seconds"),
            Column("high", "seconds"),
            Column("measured", "seconds"),
            Column("error", "percent"),
        ),
        rows=tuple(
            (
                cell.subject,
                cell.length,
                time.seconds.value,
                time.seconds.low,
                time.seconds.high,
                cell.seconds,
                error,
            )
            for (cell, time), error in zip(pairs, errors, strict=True)
        ),
        note="Error: of the predicted time, positive where it says too much.",
        command=command,
    )
    off = median(abs(error) for error in errors)
    finding = Finding(
        key="predicted_time",
        text=f"Times predicted before running are {show(off, 'percent')} off in the median.",
        values={"median": off, "worst": max(abs(error) for error in errors)},
        command=command,
    )
    figure = Figure(_chart(pairs), table)
    return Chapter((finding,), Section(title="Predicted beside measured", blocks=(figure,)))


def _chart(pairs: Sequence[tuple[Measured, PredictedTime]], most: int = 4) -> Chart:
    series = []
    for name in list(dict.fromkeys(cell.subject for cell, _ in pairs))[:most]:
        mine = sorted((x for x in pairs if x[0].subject == name), key=lambda x: x[0].length)
        told = tuple(Point(cell.length, time.seconds.value or 0.0) for cell, time in mine)
        seen = tuple(Point(cell.length, cell.seconds, cell.low, cell.high) for cell, _ in mine)
        series += [
            Series(f"{name}, predicted", told, group=name),
            Series(f"{name}, measured", seen, style="markers", group=name),
        ]
    return Chart(
        title="Predicted time beside measured time",
        description="Lines are predictions from a calibration, markers are medians of samples.",
        x=Axis(label="tokens", unit="tokens"),
        y=Axis(label="time of one call", unit="seconds"),
        series=tuple(series),
    )
