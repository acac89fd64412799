"""What a model took here, in time and memory over the length, beside what formulas say."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from attncost.core.units import show
from attncost.cost.peak import peak_elements
from attncost.draw.chart import MOST_SERIES, Axis, Chart, Point, Series
from attncost.measure.law import Law
from attncost.measure.sentences import written
from attncost.measure.summary import Measured
from attncost.measure.target import KEEPS_WEIGHTS, OWN, Target
from attncost.report.document import Chapter, Column, Figure, Finding, Section, Table

_FLOAT32: Final = 4
_TOKENS: Final = Axis(label="tokens", unit="tokens")


def timed(
    target: Target,
    cells: Sequence[Measured],
    laws: Mapping[str, Law],
    *,
    run: str,
    environment: Mapping[str, Any],
) -> Chapter:
    """Return measured time and memory against theory.

    Args:
        target: What was measured.
        cells: Medians, in the order of subjects and lengths.
        laws: The law of each subject.
        run: Where the samples are.
        environment: Its first row, with notes on what was left out.
    """
    fit, command = f"attncost fit {shlex.quote(run)}", str(environment["command"])
    figures = (
        _times(target, cells, laws, command),
        _memory(target, cells, command),
        _laws(laws, fit),
    )
    text = [f"Every sample is in {run}.", *environment.get("notes", ())]
    text += [f"{name}: {law.verdict.sentence}" for name, law in laws.items()]
    section = Section(
        title="What it takes here, measured",
        text=tuple(text),
        blocks=figures,
    )
    return Chapter((*_findings(cells, command), _verdict(laws, fit)), section)


def _findings(cells: Sequence[Measured], command: str) -> tuple[Finding, ...]:
    longest = max(cell.length for cell in cells)
    last = [cell for cell in cells if cell.length == longest]
    own = next((cell for cell in last if _word(cell) in OWN), last[0])
    naive = next((cell for cell in last if _word(cell) in KEEPS_WEIGHTS), last[0])
    return (
        Finding(
            key="measured_time",
            text=(
                f"{longest:,} tokens take {show(own.seconds, 'seconds')} here with {_word(own)}, "
                f"{show(naive.seconds / own.seconds, 'times')} as long with {_word(naive)}."
            ),
            values={"length": longest, "seconds": {c.subject: c.seconds for c in last}},
            command=command,
        ),
        Finding(
            key="measured_memory",
            text=(
                f"{longest:,} tokens hold {show(own.peak_bytes, 'bytes')} at once with "
                f"{_word(own)}, {show(naive.peak_bytes, 'bytes')} with {_word(naive)}."
            ),
            values={"length": longest, "peak_bytes": {c.subject: c.peak_bytes for c in last}},
            command=command,
        ),
    )


def _verdict(laws: Mapping[str, Law], command: str) -> Finding:
    name = next((name for name in laws if _word_of(name) in OWN), next(iter(laws)))
    law = laws[name]
    return Finding(
        key="law",
        text=_answer(_word_of(name), law),
        values={
            "subject": name,
            "verdict": law.verdict.word,
            "rms": law.rms,
            "crossover": None if law.crossover is None else asdict(law.crossover),
        },
        command=command,
    )


def _answer(name: str, law: Law) -> str:
    """Say in a line where attention leads by time, if the law can tell."""
    first, last = law.points[0], law.points[-1]
    if law.verdict.word == "inconsistent":
        time = (last.seconds.value or 0.0) / (first.seconds.value or 1.0)
        flops = (last.linear + last.core) / (first.linear + first.core)
        grows = f"it grows {time:,.1f} x, they {flops:,.1f} x"
        return f"Time of {name} does not follow its FLOPs: {grows}."
    crossing = law.crossover
    if crossing is None or crossing.value is None or law.verdict.word == "undecided":
        return f"Up to {last.length:,} tokens time cannot tell where attention leads in {name}."
    ends = f" ({crossing.low:,.0f}-{crossing.high:,.0f})" if crossing.high else ""
    beyond = ", extrapolated" if crossing.value > last.length else ""
    return f"By time attention leads from {crossing.value:,.0f} tokens{ends} in {name}{beyond}."


def _times(
    target: Target, cells: Sequence[Measured], laws: Mapping[str, Law], command: str
) -> Figure:
    series = []
    for name in _shown(cells):
        of_name = [cell for cell in cells if cell.subject == name]
        points = tuple(Point(c.length, c.seconds, c.low, c.high) for c in of_name)
        fitted = tuple(Point(c.length, laws[name].predict(c.length)) for c in of_name)
        series += [Series(name, points, "markers", name), Series("", fitted, group=name)]
    chart = Chart(
        title=f"One forward call of {target.configuration.name}",
        description=(
            "Markers: median time with its 95 % interval against tokens. Lines: the law fitted to "
            f"it.{_left_out(cells)}"
        ),
        x=_TOKENS,
        y=Axis(label="one call", unit="seconds"),
        series=tuple(series),
    )
    columns = ("time", "low", "high", "law")
    rows = tuple(
        (c.subject, c.length, c.seconds, c.low, c.high, laws[c.subject].predict(c.length), c.rounds)
        for c in cells
    )
    table = Table(
        title="Time of one forward call",
        columns=(
            Column("attention"),
            Column("tokens", "tokens"),
            *(Column(name, "seconds") for name in columns),
            Column("samples", "exact"),
        ),
        rows=rows,
        note="Medians; low and high are the ends of the 95 % interval, from 6 samples on.",
        command=command,
    )
    return Figure(chart, table)


def _memory(target: Target, cells: Sequence[Measured], command: str) -> Figure:
    series = []
    for name in _shown(cells):
        of_name = [cell for cell in cells if cell.subject == name]
        points = tuple(Point(c.length, c.peak_bytes) for c in of_name)
        series.append(Series(name, points, "markers", name))
        formula = [(c.length, _formula(target, c)) for c in of_name]
        if all(peak for _, peak in formula):
            line = tuple(Point(n, peak or 0) for n, peak in formula)
            series.append(Series("", line, group=name))
    chart = Chart(
        title="The most memory that one call holds at once",
        description=(
            "Markers: peak bytes beyond weights and input against tokens. Lines: their closed "
            f"form, where one is known.{_left_out(cells)}"
        ),
        x=_TOKENS,
        y=Axis(label="peak memory", unit="bytes"),
        series=tuple(series),
    )
    table = Table(
        title="Peak memory of one forward call",
        columns=(
            Column("attention"),
            Column("tokens", "tokens"),
            Column("peak", "bytes"),
            Column("by formula", "bytes"),
            Column("for each token", "bytes"),
        ),
        rows=tuple(
            (c.subject, c.length, c.peak_bytes, _formula(target, c), c.peak_bytes // c.length)
            for c in cells
        ),
        note=(
            "Beyond weights and input, from the allocator's own events. A formula is shown where "
            "a closed form is known: weights kept n x n take 2·n²·h numbers, a fused kernel none."
        ),
        command=command,
    )
    return Figure(chart, table)


def _shown(cells: Sequence[Measured]) -> list[str]:
    return list(dict.fromkeys(cell.subject for cell in cells))[:MOST_SERIES]


def _left_out(cells: Sequence[Measured]) -> str:
    left = len({cell.subject for cell in cells}) - MOST_SERIES
    return f" {left} more are in the table." if left > 0 else ""


def _laws(laws: Mapping[str, Law], command: str) -> Table:
    def row(name: str, law: Law) -> tuple[Any, ...]:
        return (
            name,
            law.verdict.word,
            law.rms,
            law.constant.value,
            law.linear_rate.value,
            law.core_rate.value,
            None if law.crossover is None else written(law.crossover, "tokens"),
            law.theory_crossover,
        )

    return Table(
        title="The law of each",
        columns=(
            Column("attention"),
            Column("verdict"),
            Column("rms error", "percent"),
            Column("constant", "seconds"),
            Column("linear part", "rate"),
            Column("attention", "rate"),
            Column("crossover, measured"),
            Column("by formula", "tokens"),
        ),
        rows=tuple(row(name, law) for name, law in laws.items()),
        note=(
            "T(n) = c0 + linear FLOPs / speed + attention's FLOPs / speed, fitted to relative "
            "errors. The crossover is where attention takes as long as all the rest."
        ),
        command=command,
    )


def _formula(target: Target, cell: Measured) -> int | None:
    keeps = target.keeps_weights(cell.subject)
    if keeps is None:
        return None
    block = target.configuration.block
    peak: int = peak_elements(block, length=cell.length, keeps_weights=keeps)
    return _FLOAT32 * peak


def _word(cell: Measured) -> str:
    return _word_of(cell.subject)


def _word_of(subject: str) -> str:
    return subject.partition(",")[0]
