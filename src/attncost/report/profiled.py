"""The document of a profile: where time goes by kind of work, by module and by operator."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, final

from attncost.core.units import show
from attncost.measure.attribution.kinds import BETWEEN
from attncost.measure.attribution.profiled import ModuleTime, PartTime, Profile
from attncost.report.document import Column, Document, Finding, Section, Table
from attncost.report.folded import CONTAINERS, ROWS, fitting, folded, nested, tree

_SCHEMA: Final = "attncost.profile/1"
_OPERATORS: Final = 12
_NAMED: Final = 42  # characters of an operator that fit beside its numbers
_TRUST: Final = (
    "Seconds are those of a call under the profiler, which makes what is small and called often "
    "look larger, and hold waiting for a core; trust shares, and take seconds from the call alone."
)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Profiled:
    """A model that was profiled.

    Attributes:
        name: What it is called.
        found: The profile.
        length: Tokens of a sequence; None if its inputs have sizes of their own.
        batch: Sequences; None likewise.
        command: What repeats it.
        trace: The file that its trace was written to, if any was.
    """

    name: str
    found: Profile
    length: int | None
    batch: int | None
    command: str
    trace: str | None = None


def profile_document(profiled: Profiled) -> Document:
    """Return where the time of a call goes."""
    found, command = profiled.found, profiled.command
    trace = () if profiled.trace is None else (f"Open {profiled.trace} in ui.perfetto.dev.",)
    return Document(
        schema=_SCHEMA,
        title=f"{profiled.name} ({found.name}): {_sizes(profiled)}",
        subtitle=_how(found),
        command=command,
        findings=(_where(found, command), _alone(found, command), _overhead(found, command)),
        sections=(
            Section(title="By kind of work", text=found.notes, blocks=(_kinds(found, command),)),
            Section(title="By module", blocks=(_modules(found, command),)),
            Section(title="By operator", blocks=(_operators(found, command),)),
            Section(title="Repeat it", text=(command, *trace)),
        ),
        facts=_facts(profiled),
    )


def _sizes(profiled: Profiled) -> str:
    passes = "forward and backward" if profiled.found.training else "forward"
    if profiled.length is None or profiled.batch is None:
        return f"its own inputs, {passes}"
    batch = "one sequence" if profiled.batch == 1 else f"{profiled.batch:,} sequences"
    return f"{batch} of {profiled.length:,} tokens, {passes}"


def _how(found: Profile) -> str:
    threads = "one thread" if found.threads == 1 else f"{found.threads} threads"
    return f"on {found.device} with {threads}, mean of {_calls(found.rounds)}"


def _calls(rounds: int) -> str:
    return "one call" if rounds == 1 else f"the {rounds} quickest calls"


def _where(found: Profile, command: str) -> Finding:
    parts = sorted(found.by_kind, key=lambda part: -part.share)
    said = ", ".join(f"{show(part.share, 'percent')} {part.name}" for part in parts)
    return Finding(
        key="where",
        text=said or "no time at all",
        values={part.name: part.share for part in parts},
        command=command,
    )


def _alone(found: Profile, command: str) -> Finding:
    alone = found.overhead.alone_seconds
    return Finding(
        key="alone",
        text=f"{show(alone, 'seconds')} a call without the profiler ({found.overhead.clock})",
        values={"alone_seconds": alone, "profiled_seconds": found.seconds},
        command=command,
    )


def _overhead(found: Profile, command: str) -> Finding:
    times = found.overhead.times
    ends = f"{times.low:.2f}-{times.high:.2f}, {times.rounds} rounds"
    return Finding(
        key="overhead",
        text=f"{show(times.figure, 'times')} as long with it ({ends})",
        values=asdict(times),
        command=command,
    )


def _kinds(found: Profile, command: str) -> Table:
    return Table(
        title="Time by kind of work",
        columns=(Column("work"), Column("time", "seconds"), Column("share", "percent")),
        rows=(
            *((part.name, part.seconds, part.share) for part in found.by_kind),
            ("together", found.seconds, 1.0),
        ),
        note=(
            f"{_TRUST} Attention by hand is among batched products and softmax. Between operators "
            "is Python, and code that calls no operator."
        ),
        command=command,
    )


def _modules(found: Profile, command: str) -> Table:
    """Return the modules as a tree; layers of one class take one line, their times added up."""
    known = {one.name: one for one in found.by_module}
    shown = {name: one.kind for name, one in known.items() if name and one.kind not in CONTAINERS}
    depth = fitting(shown, ROWS)
    rows: list[tuple[Any, ...]] = []
    if "" in known:
        rows.append(_row("the whole", [known[""]], found))
    folds = folded(pair for pair in shown.items() if nested(pair[0]) <= depth)
    rows += [_row(line, [known[n] for n in fold.names], found) for line, fold in tree(folds)]
    rows += [(part.name, None, part.seconds, part.seconds, part.share) for part in found.elsewhere]
    return Table(
        title="Time of each module",
        columns=(
            Column("module"),
            Column("alike", "exact"),
            Column("with all in it", "seconds"),
            Column("its own", "seconds"),
            Column("share", "percent"),
        ),
        rows=tuple(rows),
        note=_note(found, depth, shown),
        command=command,
    )


def _row(name: str, alike: list[ModuleTime], found: Profile) -> tuple[Any, ...]:
    times, whole = len(alike), sum(one.total_seconds for one in alike)
    return (
        name,
        times if times > 1 else None,
        whole,
        sum(one.self_seconds for one in alike),
        whole / found.seconds if found.seconds else None,
    )


def _note(found: Profile, depth: int, shown: Mapping[str, str]) -> str:
    notes = ["Times of those alike are added up; the share is that with all in it."]
    if found.training:
        notes.append("The backward pass counts for the module whose forward pass it undoes.")
    if any(nested(name) > depth for name in shown):
        notes.append("Deeper modules are in --json and the trace.")
    return " ".join(notes)


def _operators(found: Profile, command: str) -> Table:
    few = found.by_operator[:_OPERATORS]
    rest = found.by_operator[_OPERATORS:]
    rows: list[tuple[Any, ...]] = [
        (_short(one.name), one.calls, one.self_seconds, one.share) for one in few
    ]
    if rest:
        calls, seconds, share = (
            sum(getattr(one, name) for one in rest) for name in ("calls", "self_seconds", "share")
        )
        rows.append((f"{len(rest)} more", calls, seconds, share))
    between = next((part for part in found.by_kind if part.name == BETWEEN), None)
    if between is not None:
        rows.append((BETWEEN, None, between.seconds, between.share))
    return Table(
        title="Time of each operator",
        columns=(
            Column("operator"),
            Column("calls", "exact"),
            Column("its own", "seconds"),
            Column("share", "percent"),
        ),
        rows=tuple(rows),
        note="Its own: without the operators that it calls.",
        command=command,
    )


def _short(name: str) -> str:
    """Leave out the middle of a name that is too long; its end says forward or backward."""
    plain = name.removeprefix("autograd::engine::evaluate_function: ")
    plain = plain if plain == name else f"autograd: {plain}"
    if len(plain) <= _NAMED:
        return plain
    kept = _NAMED - 3
    return f"{plain[: kept // 2]}...{plain[-(kept - kept // 2) :]}"


def _facts(profiled: Profiled) -> dict[str, Any]:
    """Return all of it as plain data, every digit."""
    found = profiled.found
    parts: dict[str, tuple[PartTime, ...]] = {"kinds": found.by_kind, "elsewhere": found.elsewhere}
    return {
        "model": profiled.name,
        "class": found.name,
        "length": profiled.length,
        "batch": profiled.batch,
        "training": found.training,
        "device": found.device,
        "threads": found.threads,
        "rounds": found.rounds,
        "seconds": found.seconds,
        "alone_seconds": found.overhead.alone_seconds,
        "clock": found.overhead.clock,
        "overhead": asdict(found.overhead.times),
        "attention_share": found.attention,
        "notes": list(found.notes),
        **{name: [asdict(part) for part in of] for name, of in parts.items()},
        "modules": [asdict(one) for one in found.by_module],
        "operators": [asdict(one) for one in found.by_operator],
        "trace": profiled.trace,
    }
