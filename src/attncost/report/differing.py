"""The documents of a difference: between two models, and between a model and its lock."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from attncost.cost.cheaper import Cheaper, Stretch
from attncost.cost.difference import Change
from attncost.cost.lock import Locked, Verdict
from attncost.report.bounds import exactness
from attncost.report.changes import changed, ratio, shown
from attncost.report.counted import facts, totals
from attncost.report.document import Column, Document, Finding, Section, Table
from attncost.report.subject import Subject


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
    sections.append(changed(changes, (first.owned, second.owned), names, command=command))
    return Document(
        schema="attncost.count/1",
        title=f"{first.name} and {second.name}: {first.sizes}",
        subtitle=exactness(first.counted, second.counted),
        command=command,
        findings=tuple(_of_each(subjects)),
        sections=tuple(sections),
        facts={
            "models": [facts(subject) for subject in subjects],
            "differences": [asdict(change) for change in changes],
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
        (name, shown(old, name), shown(new, name), ratio(old, new))
        for name, (old, new) in verdict.totals.items()
    ]
    rows += [
        (name, f"{old:,} calls", f"{new:,} calls", ratio(old, new))
        for name, (old, new) in verdict.unpriced.items()
    ]
    columns = (Column("total"), Column("locked"), Column("now"), Column("ratio", "times"))
    table = Table(title="What differs in all", columns=columns, rows=tuple(rows), command=command)
    sections = [] if not rows else [Section(title="In all", blocks=(table,))]
    if verdict.changes:
        sides = (locked.modules, subject.owned)
        sections.append(changed(verdict.changes, sides, ("locked", "now"), command=command))
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
            "differences": [asdict(change) for change in verdict.changes],
            "model": facts(subject),
        },
    )


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
    first, second = subjects
    rows = [
        (name, *(shown(one.totals[name], name) for one in subjects), ratio(*pair))
        for name, *pair in (
            (name, first.totals[name], second.totals[name]) for name in first.totals
        )
    ]
    kept = [one.kv_bytes_per_token for one in subjects]
    if kept != [None, None] or None in (first.configuration, second.configuration):
        cells = (_kept(one) for one in subjects)
        rows.append(("KV bytes a token", *cells, ratio(*kept)))
    columns = (Column("total"), *(Column(s.name) for s in subjects), Column("ratio", "times"))
    return Table(title="Totals side by side", columns=columns, rows=tuple(rows), command=command)


def _kept(subject: Subject) -> str:
    if subject.kv_bytes_per_token is None and subject.configuration is None:
        return "not known"
    return shown(subject.kv_bytes_per_token, "kv_bytes_per_token")


def _over(found: Cheaper, names: tuple[str, str]) -> Iterable[str]:
    how = "every length was compared" if found.every else "doubling lengths, then bisection"
    yield f"From {found.shortest:,} to {found.longest:,} tokens, one sequence; {how}."
    for field, stretches in (("useful", found.useful), ("dense", found.dense)):
        ends = [*(one.start - 1 for one in stretches[1:]), found.longest]
        said = [
            _stretch(one, end, names, every=found.every)
            for one, end in zip(stretches, ends, strict=True)
        ]
        yield f"By {field} FLOPs {'; '.join(said)}."


def _stretch(stretch: Stretch, last: int, names: tuple[str, str], *, every: bool) -> str:
    start, which = stretch.start, dict(zip(("first", "second"), names, strict=True))
    winner = which.get(stretch.cheaper)
    said = "both cost the same" if winner is None else f"{winner} is cheaper"
    if start == last:
        return f"{said} at {start:,} tokens"
    lengths = "every length" if every else "the lengths looked at"
    return f"{said} at {lengths} from {start:,} to {last:,} tokens"
