"""The documents of a difference: between two models, and between a model and its lock."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any, Final

from attncost.core.units import show
from attncost.cost.cheaper import Cheaper, Stretch
from attncost.cost.difference import FIELDS, Change, Own, topmost
from attncost.cost.lock import Locked, Verdict
from attncost.report.counted import facts, totals
from attncost.report.document import Column, Document, Finding, Section, Table
from attncost.report.folded import Fold, folded
from attncost.report.subject import Subject

_MOST: Final = 24  # lines of changes
_UNITS: Final = {
    "useful": "flops",
    "dense": "flops",
    "executed": "flops",
    "elementwise": "count",
    "bytes": "bytes",
    "parameters": "exact",
    "kv_bytes_per_token": "exact",
}
# What is said of a change first, if it differs.
_TOLD: Final = ("useful", "dense", "parameters", "executed", "elementwise", "bytes")


def difference_document(
    subjects: tuple[Subject, Subject],
    changes: Sequence[Change],
    over_length: Cheaper | None,
    *,
    command: str,
) -> Document:
    """Return what differs between two models.

    Args:
        subjects: The models.
        changes: Modules that differ, dearest first.
        over_length: Which is cheaper at which length; None if that was not asked.
        command: What compares them.
    """
    first, second = subjects
    names = (first.name, second.name)
    sections = [Section(title="Side by side", blocks=(_side_by_side(subjects, command),))]
    if over_length is not None:
        sections.append(Section(title="Over the length", text=tuple(_over(over_length, names))))
    only = (f"only in {first.name}", f"only in {second.name}")
    sections.append(changed(changes, (first.owned, second.owned), only))
    return Document(
        schema="attncost.count/1",
        title=f"{first.name} and {second.name}: {first.sizes}",
        subtitle="A multiply-add is 2 FLOPs; exact counts, no weights were needed",
        command=command,
        findings=tuple(_of_each(subjects)),
        sections=tuple(sections),
        facts={
            "models": [facts(subject) for subject in subjects],
            "differences": [_plain(change) for change in changes],
            "over_length": None if over_length is None else asdict(over_length),
        },
    )


def check_document(
    subject: Subject, locked: Locked, verdict: Verdict, *, lock: str, command: str
) -> Document:
    """Return what changed since a model was locked.

    Args:
        subject: The model as it is.
        locked: The model as it was.
        verdict: What the comparison found.
        lock: The file it was compared with.
        command: What compares them.
    """
    same = "is as locked" if verdict.equal else "is not what was locked"
    rows = [
        (name, _shown(old, name), _shown(new, name), _ratio(old, new))
        for name, (old, new) in verdict.totals.items()
    ]
    rows += [
        (name, f"{old:,} calls", f"{new:,} calls", _ratio(old, new))
        for name, (old, new) in verdict.unpriced.items()
    ]
    columns = (Column("total"), Column("locked"), Column("now"), Column("ratio", "times"))
    table = Table(title="What differs in all", columns=columns, rows=tuple(rows), command=command)
    sections = [] if not rows else [Section(title="In all", blocks=(table,))]
    if verdict.changes:
        sections.append(changed(verdict.changes, (locked.modules, subject.owned), ("gone", "new")))
    if not verdict.equal:
        sections.append(Section(title="If that is meant", text=(f"{command} --write",)))
    return Document(
        schema="attncost.check/1",
        title=f"{subject.name} {same} in {lock}: {subject.sizes}",
        subtitle=verdict.left_out or "",
        command=command,
        sections=tuple(sections),
        facts={
            "equal": verdict.equal,
            "lock": lock,
            "left_out": verdict.left_out,
            "totals": {name: list(pair) for name, pair in verdict.totals.items()},
            "unpriced": {name: list(pair) for name, pair in verdict.unpriced.items()},
            "differences": [_plain(change) for change in verdict.changes],
            "model": facts(subject),
        },
    )


def changed(
    changes: Sequence[Change], sides: tuple[Iterable[str], Iterable[str]], only: tuple[str, str]
) -> Section:
    """Return modules that differ, dearest first, a line each; repeated layers take one.

    Args:
        changes: The modules.
        sides: Names of all modules of either side, so that what is new as a whole is named so.
        only: How to say that a module is on the first side alone, and on the second.
    """
    lines: dict[str, tuple[Own | None, Own | None, int]] = {}
    for change in changes:
        name = change.module if change.other is None else f"{change.module} -> {change.other}"
        if change.before is None or change.after is None:
            name = topmost(change.module, sides[change.before is not None])
        before, after, modules = lines.get(name, (None, None, 0))
        lines[name] = (
            _together(before, change.before),
            _together(after, change.after),
            modules + 1,
        )
    folds = folded(lines.items())
    text = [_line(fold, lines[fold.names[0]], only) for fold in folds[:_MOST]]
    if len(folds) > _MOST:
        text.append(f"{len(folds) - _MOST} lines more; --json has all of them.")
    return Section(title="What differs", text=tuple(text or ("No module.",)))


def _together(one: Own | None, other: Own | None) -> Own | None:
    if one is None or other is None:
        return one or other
    return Own(kind="", **{f: getattr(one, f) + getattr(other, f) for f in FIELDS})


def _line(fold: Fold, change: tuple[Own | None, Own | None, int], only: tuple[str, str]) -> str:
    before, after, modules = change
    notes = [f"{len(fold.names)} alike"] if len(fold.names) > 1 else []
    notes += [f"{modules} modules"] if modules > 1 else []
    name = (fold.name or "the whole") + (f" ({', '.join(notes)})" if notes else "")
    if before is None or after is None:
        here, word = (after, only[1]) if before is None else (before, only[0])
        assert here is not None
        told = [f"{_shown(getattr(here, f), f)} {f}" for f in _told(Own(kind=""), here)]
        return f"{name}: {word}, {', '.join(told)}"
    told = [
        f"{f} {_shown(getattr(before, f), f)} -> {_shown(getattr(after, f), f)}"
        + _times(getattr(before, f), getattr(after, f))
        for f in _told(before, after)
    ]
    return f"{name}: {', '.join(told)}"


def _told(before: Own, after: Own) -> list[str]:
    """Return what to say of a change: the first that differs, and parameters."""
    differ = [f for f in _TOLD if getattr(before, f) != getattr(after, f)]
    return list(dict.fromkeys([*differ[:1], *(f for f in differ if f == "parameters")]))


def _times(before: int, after: int) -> str:
    ratio = _ratio(before, after)
    return "" if ratio is None else f" ({show(ratio, 'times')})"


def _of_each(subjects: tuple[Subject, Subject]) -> Iterable[Finding]:
    for place, subject in zip(("first", "second"), subjects, strict=True):
        for finding in totals(subject):
            if finding.key in ("flops", "at_most"):
                yield Finding(
                    key=f"{place}_{finding.key}",
                    text=f"{subject.name}: {finding.text}",
                    values=finding.values,
                    command=subject.command,
                )


def _side_by_side(subjects: tuple[Subject, Subject], command: str) -> Table:
    first, second = (
        {**one.totals, "kv_bytes_per_token": one.kv_bytes_per_token} for one in subjects
    )
    rows = tuple(
        (
            name.replace("_", " "),
            _shown(first[name], name),
            _shown(second[name], name),
            _ratio(first[name], second[name]),
        )
        for name in first
        if first[name] is not None or second[name] is not None
    )
    columns = (Column("total"), *(Column(s.name) for s in subjects), Column("ratio", "times"))
    return Table(title="Totals side by side", columns=columns, rows=rows, command=command)


def _over(found: Cheaper, names: tuple[str, str]) -> Iterable[str]:
    how = "every length was compared" if found.every else "doubling lengths, then bisection"
    yield f"From {found.shortest:,} to {found.longest:,} tokens, one sequence; {how}."
    for field, stretches in (("useful", found.useful), ("dense", found.dense)):
        yield f"By {field} FLOPs: {'; '.join(_stretch(one, names) for one in stretches)}."


def _stretch(stretch: Stretch, names: tuple[str, str]) -> str:
    winner = {"first": names[0], "second": names[1], "neither": "neither"}[stretch.cheaper]
    return f"{winner} is cheaper from {stretch.start:,} tokens"


def _shown(value: int | None, name: str) -> str:
    return "-" if value is None else show(value, _UNITS[name])


def _ratio(before: int | None, after: int | None) -> float | None:
    return after / before if before and after else None


def _plain(change: Change) -> dict[str, Any]:
    return asdict(change)
