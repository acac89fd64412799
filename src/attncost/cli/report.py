"""`attncost report`: what attention costs in a model, as one page and ten lines."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from attncost.cli._exit import INTERRUPTED
from attncost.cli._lists import numbers
from attncost.cli._sweep import fresh_run, swept

if TYPE_CHECKING:
    from attncost.measure.store import Sample
    from attncost.measure.target import Target
    from attncost.report.document import Document
    from attncost.report.findings import Text, Timing

_PAGE: Final = Path("attncost-report.html")
_USUAL: Final = {"batch": 32, "beside": "llama-3-8b", "rounds": 15, "budget": 45.0}


def report(
    model: Annotated[
        str, typer.Argument(help="demo, layer:d_model=512,heads=8, a folder, a preset")
    ] = "demo",
    text: Annotated[
        Path | None, typer.Option(help="a text, a sequence a line; an example, if left out")
    ] = None,
    batch: Annotated[int, typer.Option(help="lines in a batch of the text")] = 32,
    lengths: Annotated[
        str | None, typer.Option(help="where to measure, such as 64,128,256")
    ] = None,
    rounds: Annotated[int, typer.Option(help="samples of each length")] = 15,
    budget: Annotated[float, typer.Option(help="seconds to measure for")] = 45,
    run: Annotated[
        Path | None, typer.Option(help="a run of attncost measure to show instead of a new one")
    ] = None,
    no_measure: Annotated[
        bool, typer.Option("--no-measure", help="formulas alone, in seconds")
    ] = False,
    beside: Annotated[
        str, typer.Option(help="a preset to price beside it, or none")
    ] = "llama-3-8b",
    output: Annotated[Path, typer.Option("--output", "-o", help="where the page goes")] = _PAGE,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON too, no lines")] = False,
) -> int | None:
    """Report what attention costs, by formula and measured here.

    For instance: attncost report demo -o page.html
    """
    from attncost.cost.configuration import preset  # noqa: PLC0415 -- keep --help light
    from attncost.measure.target import target  # noqa: PLC0415 -- see above
    from attncost.report.findings import report as gathered  # noqa: PLC0415 -- see above

    chosen = target(model)
    other = None if beside == "none" else preset(beside)
    read = _text(chosen, text, batch)
    _writable(output)
    wishes: dict[str, object] = {"text": text, "batch": batch, "beside": beside, "run": run}
    if run:
        timing = _read(run)
    elif no_measure or not chosen.lengths:
        timing = None
    else:
        wishes |= {"lengths": lengths, "rounds": rounds, "budget": budget}
        timing = _measured(chosen, numbers(lengths) if lengths else chosen.lengths, rounds, budget)
        if timing is None:
            return INTERRUPTED
    command = shlex.join(["attncost", "report", model, *_given(wishes)])
    document = gathered(chosen, command=command, text=read, timing=timing, beside=other)
    _print(document, output, as_json=as_json)
    return None


def _text(chosen: "Target", path: Path | None, batch: int) -> "Text":
    """Count the tokens of each line, before anything long begins."""
    from attncost.core.errors import ShapeError  # noqa: PLC0415 -- see above
    from attncost.integrations.transformers import token_lengths  # noqa: PLC0415 -- see above
    from attncost.report.example import example_text, lines  # noqa: PLC0415 -- see above
    from attncost.report.findings import Text  # noqa: PLC0415 -- see above

    if batch < 1:
        raise ShapeError(f"--batch must be at least 1, got {batch}.")
    path = path or example_text()
    found = lines(path)
    if chosen.folder is None or not chosen.lengths:
        counted, by = [len(line.split()) for line in found], "words, as there is no tokenizer"
    else:
        counted, by = token_lengths(chosen.folder, found), "tokens of the model's own tokenizer"
    return Text(name=f"{path.name} ({by})", lengths=counted, batch_size=batch)


def _writable(output: Path) -> None:
    """Refuse a page that cannot be written, before anything long begins."""
    from attncost.core.errors import StorageError  # noqa: PLC0415 -- see above

    try:
        with output.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise StorageError(
            f"{output} cannot be written ({error.strerror}): choose another with -o PAGE.html."
        ) from error


def _read(run: Path) -> "Timing":
    from attncost.measure.store import read  # noqa: PLC0415 -- see above

    return _timing(run, *read(run))


def _timing(run: Path, facts: dict[str, Any], samples: "list[Sample]") -> "Timing":
    from attncost.measure.laws import laws_of  # noqa: PLC0415 -- see above
    from attncost.measure.summary import measured  # noqa: PLC0415 -- see above
    from attncost.report.findings import Timing  # noqa: PLC0415 -- see above

    cells, laws = measured(samples), laws_of(samples)
    return Timing(run=str(run), environment=facts, cells=cells, laws=laws)


def _measured(
    chosen: "Target", lengths: tuple[int, ...], rounds: int, budget: float
) -> "Timing | None":
    """Measure; None if that was interrupted."""
    from attncost.measure.clock import clock_for  # noqa: PLC0415 -- see above
    from attncost.measure.sweep import Plan  # noqa: PLC0415 -- see above

    # A layer is measured with one matrix for q, k and v; `attncost measure` has both ways.
    qkv = None if chosen.folder else ["fused"]
    plan, path = Plan(lengths=lengths, rounds=rounds, budget=budget), fresh_run()
    wishes = {
        "lengths": ",".join(map(str, lengths)),
        "qkv": qkv and qkv[0],
        "rounds": rounds,
        "budget": budget,
    }
    words = ["attncost", "measure", chosen.name]
    words += [part for name, wish in wishes.items() if wish for part in (f"--{name}", f"{wish}")]
    found = swept(
        chosen.subjects(None, qkv), plan, clock_for("cpu"), path, command=shlex.join(words)
    )
    return None if found is None else _timing(path, *found)


def _given(wishes: dict[str, object]) -> list[str]:
    """Return the options that differ from the defaults."""
    changed = {name: wish for name, wish in wishes.items() if wish not in (None, _USUAL.get(name))}
    return [part for name, wish in changed.items() for part in (f"--{name}", f"{wish}")]


def _print(document: "Document", output: Path, *, as_json: bool) -> None:
    from attncost.report.html import html  # noqa: PLC0415 -- see above
    from attncost.report.plain import dumped  # noqa: PLC0415 -- see above

    output.write_text(html(document), encoding="utf-8")
    if as_json:
        typer.echo(dumped(document))
        return
    typer.echo(document.title)
    for finding in document.findings:
        typer.echo(f"  {finding.text}")
    typer.echo(f"The page: {output.resolve()}")
