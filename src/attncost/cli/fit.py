"""`attncost fit`: the law of a run or of a published table, and the verdict on it."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attncost.core.errors import ShapeError, StorageError, UnknownName

if TYPE_CHECKING:
    from attncost.measure.laws.law import Law, Margins
    from attncost.measure.laws.run import Laws

_WIDTH = 80


def fit(
    source: Annotated[
        Path, typer.Argument(help="a run's folder, or a CSV with the header length,milliseconds")
    ],
    d_model: Annotated[
        int | None, typer.Option(help="features of a token in the layer that a CSV timed")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="relative error that is forgiven")] = 0.05,
    subject: Annotated[
        str | None, typer.Option(help="one subject of a run; all of them, if left out")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Fit the law of time and judge it.

    For instance: attncost fit timings.csv --d-model 512

    T(n) = c0 + c1 linear(n) + c2 core(n), where linear and core are FLOPs by formula. The verdict
    is a finding: the exit status is 0 whatever it is. A subject of a run that no law can be fitted
    to is named after the laws of the others.
    """
    from attncost.measure.laws.law import Margins
    from attncost.measure.laws.run import Laws

    margins = Margins(tolerance=tolerance)
    if source.is_dir() or source.suffix == ".jsonl":
        _left_out(
            d_model, f"{source} is a run, whose samples carry their FLOPs: leave --d-model out."
        )
        environment, laws = _run(source, subject=subject, margins=margins)
    else:
        _left_out(subject, f"{source} is a table of one subject: leave --subject out.")
        law = _table(source, d_model=d_model, margins=margins)
        environment, laws = {}, Laws({source.name: law}, {})
    if as_json:
        found = [{"subject": name, **asdict(law)} for name, law in laws.fitted.items()]
        facts = {"source": str(source), "environment": environment, "laws": found}
        facts["without"] = laws.without
        typer.echo(json.dumps({"schema": "attncost.fit/1", **facts}, indent=2, allow_nan=False))
    else:
        lines = [f"{name}: no law; {reason}" for name, reason in laws.without.items()]
        lines += [f"Note: {note}" for note in environment.get("notes", ())]
        texts = [_text(name, law) for name, law in laws.fitted.items()]
        typer.echo("\n\n".join([*texts, *(fill(line, _WIDTH) for line in lines)]))


def _left_out(option: object, reason: str) -> None:
    if option is not None:
        raise ShapeError(reason)


def _table(path: Path, *, d_model: int | None, margins: "Margins") -> "Law":
    from attncost.measure.laws.fit import fit_law
    from attncost.measure.laws.published import LAYER, layer, read_table

    table = read_table(path)
    if d_model is None:
        raise ShapeError(f"{path} needs the features of a token, such as --d-model 512.")
    return fit_law(
        table.seconds,
        predicted=layer(d_model),
        formula=LAYER,
        margins=replace(margins, rounding=table.rounding),
    )


def _run(path: Path, *, subject: str | None, margins: "Margins") -> "tuple[dict[str, Any], Laws]":
    from attncost.measure.laws.run import laws_of
    from attncost.measure.store.store import read

    if not path.exists():
        raise StorageError(f"{path} does not exist: name a folder that `attncost measure` wrote.")
    environment, samples = read(path if path.is_dir() else path.parent)
    known = {sample.subject for sample in samples}
    if subject is not None and subject not in known:
        raise UnknownName("subject of the run", subject, known)
    chosen = [sample for sample in samples if subject in (None, sample.subject)]
    laws = laws_of(chosen, margins=margins)
    if not laws.fitted:
        reasons = " ".join(f"{name}: {reason}" for name, reason in laws.without.items())
        raise ShapeError(reasons or f"{path} holds no samples: measure more rounds.")
    return environment, laws


def _text(name: str, law: "Law") -> str:
    from attncost.measure.laws.sentences import because, sentences
    from attncost.measure.laws.verdict import rule

    verdict, *rest = sentences(law)
    return "\n".join(
        [
            fill(f"{name}: {verdict}", _WIDTH),
            *(fill(f"- {line}", _WIDTH, subsequent_indent="  ") for line in because(law)),
            "",
            *(fill(line, _WIDTH) for line in rest),
            "",
            *_rows(law),
            "",
            fill(rule(law.margins), _WIDTH),
        ]
    )


def _rows(law: "Law") -> list[str]:
    """Return the table: every length, and the exponent from the length above it."""
    from attncost.core.units import show

    lines = [
        f"{'':>7} {'':>9} {'':^21} {'':>9} {'':>7}  {'exponent':>9}",
        f"{'length':>7} {'time':>9} {'interval':^21} {'law':>9} {'error':>7}  "
        f"{'time':>9} {'formula':>7}",
    ]
    for point, step in zip(law.points, (None, *law.exponents), strict=True):
        value, low, high = (
            show(x or 0.0, "seconds")
            for x in (point.seconds.value, point.seconds.low, point.seconds.high)
        )
        line = (
            f"{point.length:>7,} {value:>9} {f'{low} - {high}':^21} "
            f"{show(point.fitted, 'seconds'):>9} {100 * point.error:>+6.1f}%"
        )
        if step:
            line += f"  {step.measured.value or 0.0:>9.2f} {step.theory:>7.2f}"
        lines.append(line)
    measured = law.overall.measured
    lines.append(
        f"all lengths: time n^{measured.value:.2f} [{measured.low:.2f}, {measured.high:.2f}], "
        f"formula n^{law.overall.theory:.2f}"
    )
    return lines
