"""What a visit to the doctor found: what costs first, then all else that was asked, and why."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from attncost.core.units import show
from attncost.measure.doctor.interface import Diagnosis, Verdict
from attncost.measure.store.summary import FEWEST
from attncost.report.document import Chapter, Column, Document, Finding, Section, Table

_TITLES: Final[dict[Verdict, str]] = {
    "fine": "Nothing to gain",
    "cannot tell": "Cannot tell",
    "does not apply": "Does not apply",
    "failed": "Failed",
    "not run": "Not run",
}
_COLUMNS: Final = (
    Column("check"),
    Column("verdict"),
    Column("time", "times"),
    Column("95 % interval"),
    Column("memory", "times"),
)
_NOTE: Final = (
    "Time, memory: as it is over with the advice. Time is {clocks}; peak memory is PyTorch's, or "
    "that of the process where it is one of its own."
)


def doctor_document(
    found: Sequence[Diagnosis],
    *,
    name: str,
    length: int,
    environment: Mapping[str, Any],
    command: str,
) -> Document:
    """Return the document of `attncost doctor`.

    Args:
        found: The answers.
        name: Who was examined.
        length: Tokens of a sequence.
        environment: Where it was measured.
        command: What repeats it.
    """
    return Document(
        schema="attncost.doctor/1",
        title=f"What defaults waste here: {name}, {length:,} tokens",
        subtitle=(f"{environment['processor']}, torch {environment['torch']}; nothing was changed"),
        command=command,
        findings=_findings(found, command),
        sections=tuple(_sections(found, command)),
        facts={
            "model": name,
            "length": length,
            "environment": dict(environment),
            "diagnoses": [diagnosis_facts(one) for one in found],
        },
    )


def doctor_chapter(found: Sequence[Diagnosis], *, command: str) -> Chapter:
    """Return what a report says of it: one section, and one finding of all that costs."""
    costly, rest = _costly(found), [one for one in found if one.verdict != "costs"]
    return Chapter(
        (_summary(found, command),),
        Section(
            title="What defaults waste on this machine",
            text=(*(_remedy(one) for one in costly), *(_open(one) for one in rest)),
            blocks=(_table([*costly, *rest], command),) if found else (),
        ),
    )


def diagnosis_facts(one: Diagnosis) -> dict[str, Any]:
    """Return an answer as plain data, every digit of it."""
    return {**asdict(one), "memory": one.memory}


def _costly(found: Sequence[Diagnosis]) -> list[Diagnosis]:
    """Return what costs: what every call pays before what code must ask for, most first."""
    costly = (one for one in found if one.verdict == "costs")
    return sorted(costly, key=lambda one: (one.optional, -_weight(one)))


def _summary(found: Sequence[Diagnosis], command: str) -> Finding:
    """Return how many checks cost, and which of them most, in a line."""
    costly = _costly(found)
    ended = {one.check for one in found if one.verdict not in ("failed", "not run")}
    count, others = len({one.check for one in costly}), len({one.check for one in found} - ended)
    values: dict[str, Any] = {"costly": count, "checks": len(ended), "unanswered": others}
    text = f"Doctor: {count or 'none'} of {len(ended)} checks cost here"
    if costly:
        most = costly[0]
        values |= {"most": most.key, "time": most.time and asdict(most.time), "memory": most.memory}
        text = f"Doctor: {count} of {len(ended)} cost; {most.key} {_ratios(most)}"
    return Finding(key="doctor", text=f"{text}.", values=values, command=command)


def _ratios(one: Diagnosis) -> str:
    time = f"{show(one.time.figure, 'times')} the time" if one.time else ""
    memory = f"{show(one.memory, 'times')} the memory" if one.memory else ""
    return ", ".join(filter(None, (time, memory)))


def _remedy(one: Diagnosis) -> str:
    return f"{one.key}: {_where(one)}{one.what}: {one.reason} Do: {one.advice} Undo: {one.undo}"


def _where(one: Diagnosis) -> str:
    return "where code asks for it, " if one.optional else ""


def _open(one: Diagnosis) -> str:
    return f"{_TITLES[one.verdict]}: {_line(one)}"


def _findings(found: Sequence[Diagnosis], command: str) -> tuple[Finding, ...]:
    """Return a sentence for each that costs, or one that nothing does."""
    costly = _costly(found)
    if costly:
        return tuple(_finding(one, command) for one in costly)
    fine, open_ones = (
        sum(one.verdict == verdict for one in found) for verdict in ("fine", "cannot tell")
    )
    text = f"Nothing is known to cost here: {fine} fine, {open_ones} cannot be told."
    values = {"fine": fine, "cannot_tell": open_ones}
    return (Finding(key="doctor", text=text, values=values, command=command),)


def _finding(one: Diagnosis, command: str) -> Finding:
    assert one.time
    time = f"{show(one.time.figure, 'times')} the time ({_interval(one)})"
    memory = f" and {show(one.memory, 'times')} the memory" if one.memory else ""
    return Finding(
        key=f"doctor_{one.key}",
        text=f"{one.key}: {_where(one)}{one.what}: {time}{memory}. {_sentence(one.reason)}",
        values={**asdict(one.time), "memory": one.memory, "do": one.advice, "undo": one.undo},
        command=command,
    )


def _sections(found: Sequence[Diagnosis], command: str) -> list[Section]:
    sections = []
    if costly := _costly(found):
        sections.append(Section(title="What to do", text=tuple(_advised(costly))))
    timed = [one for one in found if one.time]
    if timed:
        timed.sort(key=lambda one: (one.verdict != "costs", one.optional, -_weight(one)))
        sections.append(Section(title="Measured", blocks=(_table(timed, command),)))
    for verdict, title in _TITLES.items():
        lines = tuple(_line(one) for one in found if one.verdict == verdict)
        if lines:
            sections.append(Section(title=title, text=lines))
    return sections


def _table(shown: Sequence[Diagnosis], command: str) -> Table:
    """Return a row for each answer, in their order."""
    clocks: dict[str, list[str]] = {}
    for one in shown:
        if one.time:
            clocks.setdefault(one.clock, []).append(one.key)
    usual = max(clocks, key=lambda clock: len(clocks[clock]), default="not measured")
    others = "".join(
        f", for {', '.join(keys)} {clock}" for clock, keys in clocks.items() if clock != usual
    )
    rows = tuple(
        (
            one.key,
            one.verdict,
            one.time and one.time.figure,
            one.time and _interval(one),
            one.memory,
        )
        for one in shown
    )
    note = _NOTE.format(clocks=f"{usual}{others}")
    return Table(title="Measured", columns=_COLUMNS, rows=rows, note=note, command=command)


def _weight(one: Diagnosis) -> float:
    """Return how much there is to gain, in time or memory."""
    return max(one.time.figure if one.time else 0.0, one.memory or 0.0)


def _interval(one: Diagnosis) -> str:
    assert one.time
    ends = f"{show(one.time.low, 'times').removesuffix(' x')} to {show(one.time.high, 'times')}"
    # Fewer rounds give no interval of 95 %.
    return ends if one.time.rounds >= FEWEST else f"all: {ends}"


def _advised(costly: Sequence[Diagnosis]) -> Iterator[str]:
    for one in costly:
        yield f"{one.key}: {one.advice}"
        yield f"undo: {one.undo}"


def _line(one: Diagnosis) -> str:
    # Of what was not run or failed the name of the check says as much.
    what = f"{one.what}: " if one.verdict not in ("failed", "not run") else ""
    return f"{one.key}: {what}{one.reason}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
