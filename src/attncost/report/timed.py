"""What a model took here, in time and memory over the length, beside what formulas say."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from attncost.core.units import show
from attncost.cost.peak import peak_elements
from attncost.draw.chart import MOST_SERIES, Axis, Chart, Point, Series
from attncost.measure.laws.law import Law
from attncost.measure.laws.sentences import changes, grows, long_end, shares, written
from attncost.measure.store.summary import Measured
from attncost.measure.subjects.target import KEEPS_WEIGHTS, Target
from attncost.report.document import Chapter, Column, Figure, Finding, Section, Table
from attncost.report.law_chart import law_figure
from attncost.report.timing import Timing, own_attention

_FLOAT32: Final = 4
_LONG: Final = 1e6
_TOKENS: Final = Axis(label="tokens", unit="tokens")


def timed(target: Target, timing: Timing) -> Chapter:
    """Return measured time and memory against theory."""
    fit, command = f"attncost fit {shlex.quote(timing.run)}", str(timing.environment["command"])
    text = [f"Every sample is in {timing.run}.", *timing.environment.get("notes", ())]
    text += [f"{name}: {' '.join(_said(law))}" for name, law in timing.laws.fitted.items()]
    text += [f"{name}: no law, for {reason}" for name, reason in timing.laws.without.items()]
    section = Section(
        title="What it takes here, measured",
        text=tuple(text),
        blocks=(
            _times(target, timing, command),
            _memory(target, timing, command),
            *_drawn(timing, fit),
            *((_laws(timing.laws.fitted, fit),) if timing.laws.fitted else ()),
        ),
    )
    return Chapter((*_findings(timing, command), *_verdict(timing, fit)), section)


def _drawn(timing: Timing, command: str) -> Iterator[Figure]:
    """Draw the law of the model's own attention against theory, if it has one."""
    names = timing.series_of(timing.laws.fitted)
    if names:
        name = names[own_attention(names)]
        yield law_figure(name, timing.laws.fitted[name], command=command)


def _findings(timing: Timing, command: str) -> Iterable[Finding]:
    """Compare the model's own attention with one that keeps its weights, where both were run."""
    longest = max(cell.length for cell in timing.cells)
    at_end = {cell.subject: cell for cell in timing.cells if cell.length == longest}
    last = {name: at_end[series] for name, series in timing.series_of(at_end).items()}
    name = own_attention(last)
    own, naive = last[name], next((n for n in last if n in KEEPS_WEIGHTS and n != name), None)
    times = holds = ""
    if naive:
        other = timing.called(naive, last[naive].subject)
        times = f", {show(last[naive].seconds / own.seconds, 'times')} as long with {other}"
        holds = f", {show(last[naive].peak_bytes, 'bytes')} with {other}"
    said = timing.called(name, own.subject)
    yield Finding(
        key="measured_time",
        text=f"{longest:,} tokens take {show(own.seconds, 'seconds')} here with {said}{times}.",
        values={"length": longest, "seconds": {key: c.seconds for key, c in last.items()}},
        command=command,
    )
    yield Finding(
        key="measured_memory",
        text=(
            f"{longest:,} tokens hold {show(own.peak_bytes, 'bytes')} at once with {said}{holds}."
        ),
        values={"length": longest, "peak_bytes": {key: c.peak_bytes for key, c in last.items()}},
        command=command,
    )


def _verdict(timing: Timing, command: str) -> Iterable[Finding]:
    names = timing.series_of(timing.laws.fitted)
    if not names:
        return
    name = own_attention(names)
    law = timing.laws.fitted[names[name]]
    yield Finding(
        key="law",
        text=_answer(timing.called(name, names[name]), law),
        values={
            "subject": names[name],
            "verdict": law.verdict.word,
            "rms": law.rms,
            "crossover": None if law.crossover is None else asdict(law.crossover),
            "crossover_needs": law.needed,
            "grows_as": law.growth.name,
            "exponent": asdict(law.long_end),
            "shares": {term.name: term.shares[-1] for term in law.terms},
        },
        command=command,
    )


def _said(law: Law) -> tuple[str, ...]:
    """Say what its law is, and what else than FLOPs takes the time."""
    return (law.verdict.sentence, *shares(law), long_end(law), grows(law), *changes(law))


def _answer(name: str, law: Law) -> str:
    """Say in a line where attention leads by time, if the law can tell."""
    last = law.points[-1]
    if law.verdict.word == "inconsistent":
        growth = next(why.values for why in law.verdict.reasons if why.key == "growth")
        grows = f"it grows {growth['measured']:,.1f} x, they {growth['formula']:,.1f} x"
        return f"Time of {name} does not follow its FLOPs: {grows}."
    if law.needed is not None:
        reach = f"{last.length:,} tokens ({name}); measure up to {law.needed:,}"
        return f"Too short to place a crossover by time: {reach}."
    crossing = law.crossover
    if crossing is None or crossing.value is None:
        return f"Up to {last.length:,} tokens time ({name}) cannot tell where attention leads."
    at, low, high = (_brief(x) for x in (crossing.value, crossing.low, crossing.high))
    ends = f" ({low}-{high})" if high else ""
    beyond = ", extrapolated" if crossing.value > last.length else ""
    sure = ", undecided" if law.verdict.word == "undecided" else beyond
    return f"By time attention leads from {at}{ends} in {name}{sure}."


def _brief(length: float | None) -> str:
    """Write a length in a few characters, also one that no sequence has."""
    return "" if length is None else show(length, "tokens" if length < _LONG else "count")


def _call(timing: Timing) -> str:
    return "call" if timing.unusual else "forward call"


def _times(target: Target, timing: Timing, command: str) -> Figure:
    cells, laws = timing.cells, timing.laws.fitted

    def marker(cell: Measured) -> Point:
        return Point(cell.length, cell.seconds, cell.low, cell.high)

    chart = Chart(
        title=f"One {_call(timing)} of {target.sizes.name if target.sizes else target.name}",
        description=(
            "Markers: median time with its 95 % interval against tokens. Lines: the law fitted to "
            f"it.{_left_out(cells)}"
        ),
        x=_TOKENS,
        y=Axis(label="one call", unit="seconds"),
        series=tuple(_series(cells, marker, lambda cell: _predicted(laws, cell))),
    )
    columns = ("time", "low", "high", "law")
    rows = tuple(
        (c.subject, c.length, c.seconds, c.low, c.high, _predicted(laws, c), c.rounds)
        for c in cells
    )
    table = Table(
        title=f"Time of one {_call(timing)}",
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


def _memory(target: Target, timing: Timing, command: str) -> Figure:
    cells = timing.cells

    def marker(cell: Measured) -> Point:
        return Point(cell.length, cell.peak_bytes)

    chart = Chart(
        title="The most memory that one call holds at once",
        description=(
            "Markers: peak bytes beyond weights and input against tokens. Lines: their closed "
            f"form, where one is known.{_left_out(cells)}"
        ),
        x=_TOKENS,
        y=Axis(label="peak memory", unit="bytes"),
        series=tuple(_series(cells, marker, lambda cell: _formula(target, timing, cell))),
    )
    table = Table(
        title=f"Peak memory of one {_call(timing)}",
        columns=(
            Column("attention"),
            Column("tokens", "tokens"),
            Column("peak", "bytes"),
            Column("by formula", "bytes"),
            Column("for each token", "bytes"),
        ),
        rows=tuple(
            (
                c.subject,
                c.length,
                c.peak_bytes,
                _formula(target, timing, c),
                c.peak_bytes // c.length,
            )
            for c in cells
        ),
        note=(
            "Beyond weights and input, from the allocator's own events. A formula is shown where "
            "a closed form is known: weights kept n x n take 2·n²·h numbers, a fused kernel none."
        ),
        command=command,
    )
    return Figure(chart, table)


def _series(
    cells: Sequence[Measured],
    marker: Callable[[Measured], Point],
    theory: Callable[[Measured], float | None],
) -> Iterable[Series]:
    """Draw each subject's measurements, and through them what theory says wherever it does."""
    for name in list(dict.fromkeys(cell.subject for cell in cells))[:MOST_SERIES]:
        of_name = [cell for cell in cells if cell.subject == name]
        yield Series(name, tuple(map(marker, of_name)), "markers", name)
        said = [(cell.length, theory(cell)) for cell in of_name]
        line = tuple(Point(length, value) for length, value in said if value is not None)
        if len(line) == len(of_name):
            yield Series("", line, group=name)


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
            Column("by FLOPs", "tokens"),
        ),
        rows=tuple(row(name, law) for name, law in laws.items()),
        note=(
            "T(n) = c0 + linear FLOPs / speed + attention's FLOPs / speed, and page faults where "
            "the time asks for them, fitted to relative errors. The crossover is where attention "
            "takes as long as the linear part; by FLOPs, where the kernel executes as many, masked "
            "pairs included."
        ),
        command=command,
    )


def _predicted(laws: Mapping[str, Law], cell: Measured) -> float | None:
    return laws[cell.subject].predict(cell.length) if cell.subject in laws else None


def _formula(target: Target, timing: Timing, cell: Measured) -> int | None:
    if target.sizes is None or cell.subject in timing.unusual:
        return None
    keeps = target.keeps_weights(timing.attentions[cell.subject])
    if keeps is None:
        return None
    peak: int = peak_elements(target.sizes.block, length=cell.length, keeps_weights=keeps)
    return _FLOAT32 * peak
