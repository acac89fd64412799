"""`attncost fit`: the law of runs or of a published table, and the verdict on it."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attncost.cli._command import changed, command
from attncost.cli._printed import shown
from attncost.core.errors import ShapeError, StorageError, UnknownName
from attncost.core.files import put

if TYPE_CHECKING:
    from attncost.measure.laws.law import Law, Margins
    from attncost.measure.laws.series import Laws
    from attncost.report.document import Document


def fit(
    sources: Annotated[
        list[Path],
        typer.Argument(help="folders of runs, or a CSV with the header length,milliseconds"),
    ],
    d_model: Annotated[
        int | None, typer.Option(help="features of a token in the layer that a CSV timed")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="relative error that is forgiven")] = 0.05,
    subject: Annotated[
        str | None, typer.Option(help="one subject of a run; all of them, if left out")
    ] = None,
    across_environments: Annotated[
        bool, typer.Option("--across-environments", help="pool runs of different conditions, too")
    ] = False,
    chart: Annotated[
        Path | None, typer.Option(help="an SVG file for the picture of one law")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Fit the law of time and judge it.

    For instance: attncost fit timings.csv --d-model 512

    T(n) = c0 + c1 linear(n) + c2 core(n), where linear and core are FLOPs by formula, and page
    faults and bytes where they can be told apart. Rounds of several runs are pooled. The verdict
    is a finding: the exit status is 0 whatever it is. A subject of a run that no law can be fitted
    to is named after the laws of the others.
    """
    from attncost.measure.laws.law import Margins
    from attncost.measure.laws.series import Laws
    from attncost.report.fitted import fit_document
    from attncost.report.plain import dumped

    margins, source = Margins(tolerance=tolerance), sources[0]
    if source.is_dir() or source.suffix == ".jsonl":
        _left_out(
            d_model, f"{source} is a run, whose samples carry their FLOPs: leave --d-model out."
        )
        environments, laws = _runs(
            sources, subject=subject, margins=margins, across_environments=across_environments
        )
    else:
        _left_out(subject, f"{source} is a table of one subject: leave --subject out.")
        if len(sources) > 1:
            raise ShapeError(f"{source} is a table, which is fitted alone: leave the others out.")
        law = _table(source, d_model=d_model, margins=margins)
        environments, laws = [], Laws({source.name: law}, {})
    if chart is not None:
        _draw(chart, laws)
    wishes: dict[str, object] = {"d_model": d_model, "tolerance": tolerance, "subject": subject}
    wishes |= {"across_environments": across_environments, "chart": chart}
    document = fit_document(
        laws,
        sources=[str(one) for one in sources],
        environments=environments,
        command=command("fit", sources, changed(fit, wishes)),
    )
    typer.echo(shown(dumped(document) if as_json else _written(document, chart=chart)))


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


def _runs(
    paths: list[Path], *, subject: str | None, margins: "Margins", across_environments: bool
) -> "tuple[list[dict[str, Any]], Laws]":
    from attncost.measure.laws.pooled import pooled
    from attncost.measure.laws.series import laws_of
    from attncost.measure.store.store import read

    runs = {}
    for path in paths:
        if not path.exists():
            raise StorageError(
                f"{path} does not exist: name a folder that `attncost measure` wrote."
            )
        if str(path) in runs:
            raise ShapeError(f"{path} is named twice: its samples count once, leave one out.")
        runs[str(path)] = read(path if path.is_dir() else path.parent)
    samples = pooled(runs, across_environments=across_environments)
    known = {sample.subject for sample in samples}
    if subject is not None and subject not in known:
        raise UnknownName("subject of the run", subject, known)
    chosen = [sample for sample in samples if subject in (None, sample.subject)]
    laws = laws_of(chosen, margins=margins)
    if not laws.fitted:
        reasons = " ".join(f"{name}: {reason}" for name, reason in laws.without.items())
        raise ShapeError(reasons or f"{paths[0]} holds no samples: measure more rounds.")
    return [environment for environment, _ in runs.values()], laws


def _draw(path: Path, laws: "Laws") -> None:
    from attncost.draw.svg import svg
    from attncost.report.law_chart import law_chart

    if len(laws.fitted) > 1:
        raise ShapeError(
            f"a chart shows one law, got {len(laws.fitted)}: choose one with --subject, such as "
            f"--subject '{next(iter(laws.fitted))}'."
        )
    ((name, law),) = laws.fitted.items()
    content = (svg(law_chart(name, law), ident="law") + "\n").encode()
    put(path, content, give="name a file in a folder that can be")


def _written(document: "Document", *, chart: Path | None) -> str:
    """Write the document, and what is never broken into lines: a command and a path."""
    from attncost.report.text import text

    parts, missing = [text(document)], document.facts["missing"]
    if missing is not None:
        parts.append(f"Runs of other heads:\n  {missing}")
    if chart is not None:
        parts.append(f"The picture is in {chart}.")
    return "\n\n".join(parts)
