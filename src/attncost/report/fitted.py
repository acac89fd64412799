"""The document of `attncost fit`: the verdict on each subject, its law and its lengths."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from attncost.core.units import show
from attncost.measure.laws.law import Law
from attncost.measure.laws.sentences import because, sentences
from attncost.measure.laws.series import Laws
from attncost.measure.laws.verdict import rule
from attncost.measure.store.differences import cautions
from attncost.report.document import Cell, Column, Document, Finding, Section, Table

_COLUMNS: Final = (
    Column("length", "tokens"),
    Column("time", "seconds"),
    Column("interval"),
    Column("law", "seconds"),
    Column("error", "percent"),
    Column("n^", "count"),
    Column("formula", "count"),
)
_OUTPUT: Final = ("--output", "-o")


def fit_document(
    laws: Laws,
    *,
    sources: Sequence[str],
    environments: Sequence[Mapping[str, Any]],
    command: str,
) -> Document:
    """Return the laws of runs or of a table.

    Args:
        laws: What was fitted, by the name of its subject.
        sources: The runs, or the table.
        environments: The first row of each run; none of a table.
        command: What repeats the fit.
    """
    named = list(laws.fitted.items())
    one = len(named) == 1
    return Document(
        schema="attncost.fit/2",
        title=f"The law of {named[0][0]}" if one else f"The laws of {len(named)} subjects",
        command=command,
        findings=tuple(
            _finding(name, law, key="verdict" if one else f"verdict_{i}", command=command)
            for i, (name, law) in enumerate(named, start=1)
        ),
        sections=(
            *(_law(name, law, command=command) for name, law in named),
            *_without(laws),
            *_known(sources, environments),
            Section(title="The rule", text=(rule(named[0][1].margins),)),
        ),
        facts={
            "sources": list(sources),
            "environments": [dict(environment) for environment in environments],
            "laws": [{"subject": name, **asdict(law)} for name, law in named],
            "without": laws.without,
            "missing": missing(laws, environments),
        },
    )


def missing(laws: Laws, environments: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the runs that would tell terms apart, where the command of these shows how.

    Args:
        laws: What was fitted.
        environments: The first row of each run, with its command.
    """
    asked = {alike.varies for law in laws.fitted.values() for alike in law.alike}
    if "heads" not in asked or not environments:
        return None
    try:
        words = shlex.split(str(environments[0].get("command", "")))
    except ValueError:
        # Somebody's own words, which no shell takes.
        return None
    changed = [_other_heads(word) for word in words]
    return shlex.join(_without_output(changed)) if changed != words else None


def _other_heads(word: str) -> str:
    """Change the heads in a word such as `layer:d_model=512,heads=8`, if they are in it."""
    kind, colon, options = word.partition(":")
    return kind + colon + ",".join(map(_other, options.split(",")))


def _other(option: str) -> str:
    name, _, value = option.partition("=")
    if name != "heads" or not value.isdecimal():
        return option
    # What divides the features like these: a half, or else one.
    heads = int(value)
    return f"heads={heads // 2 if heads % 2 == 0 else 1}"


def _without_output(words: Sequence[str]) -> Iterator[str]:
    """Leave out where the run went: a run is never overwritten."""
    before = ""
    for word in words:
        if not {word, before} & {*_OUTPUT} and not word.startswith(f"{_OUTPUT[0]}="):
            yield word
        before = word


def _finding(name: str, law: Law, *, key: str, command: str) -> Finding:
    return Finding(
        key=key,
        text=f"{name}: {law.verdict.sentence}",
        values={"subject": name, "verdict": law.verdict.word, "rms": law.rms},
        command=command,
    )


def _law(name: str, law: Law, *, command: str) -> Section:
    _, *rest = sentences(law)
    return Section(title=name, text=(*because(law), *rest), blocks=(_lengths(name, law, command),))


def _lengths(name: str, law: Law, command: str) -> Table:
    """Return every length, and the exponent from the length above it."""
    measured = law.overall.measured
    return Table(
        title=f"{name}, length by length",
        columns=_COLUMNS,
        rows=tuple(_rows(law)),
        note=(
            "n^: the exponent of the time from the length above, and by formula; of all lengths "
            f"n^{measured.value:.2f} [{measured.low:.2f}, {measured.high:.2f}], formula "
            f"n^{law.overall.theory:.2f}."
        ),
        command=command,
    )


def _rows(law: Law) -> Iterator[tuple[Cell, ...]]:
    for point, step in zip(law.points, (None, *law.exponents), strict=True):
        low, high = (show(x or 0.0, "seconds") for x in (point.seconds.low, point.seconds.high))
        yield (
            point.length,
            point.seconds.value,
            f"{low} to {high}",
            point.fitted,
            point.error,
            None if step is None else step.measured.value,
            None if step is None else step.theory,
        )


def _without(laws: Laws) -> Iterator[Section]:
    if laws.without:
        said = tuple(f"{name}: {reason}" for name, reason in laws.without.items())
        yield Section(title="No law", text=said)


def _known(sources: Sequence[str], environments: Sequence[Mapping[str, Any]]) -> Iterator[Section]:
    """Say what a reader of the times should know of where they were taken."""
    said: list[str] = []
    for source, environment in zip(sources, environments, strict=False):
        of = f"{source}: " if len(environments) > 1 else ""
        notes = (*cautions(environment), *environment.get("notes", ()))
        said += [f"{of}{note}" for note in notes]
    if said:
        yield Section(title="Notes on the runs", text=tuple(said))
