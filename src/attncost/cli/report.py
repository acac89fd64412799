"""`attncost report`: what attention costs in a model, as one page and some lines."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from attncost.cli._beside import beside_measurements
from attncost.cli._calibration import calibration_in
from attncost.cli._called import called
from attncost.cli._command import changed, command
from attncost.cli._curves import foretold
from attncost.cli._lines import check_lines, counted_text, reads_images
from attncost.cli._mapped import has_maps, maps_beside, with_maps
from attncost.cli._output import check_writable, write
from attncost.cli._printed import shown
from attncost.cli._swapped_in import with_quality
from attncost.cli._timing import samples_of, taken, timed
from attncost.core.errors import AttnCostError, ShapeError

if TYPE_CHECKING:
    from attncost.measure.subjects.target import Target
    from attncost.report.document import Document
    from attncost.report.lines import Text
    from attncost.report.material import Material

_PAGE: Final = Path("attncost-report.html")


def report(
    model: Annotated[
        str, typer.Argument(help="demo, a layer, a folder, a preset, package.module:factory")
    ] = "demo",
    text: Annotated[
        Path | None, typer.Option(help="a text, a sequence a line; an example, if left out")
    ] = None,
    batch: Annotated[int, typer.Option(help="lines in a batch of the text")] = 32,
    lengths: Annotated[
        str | None, typer.Option(help="where to measure, such as 64,128,256")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(help="samples of each length; 15, if left out")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="seconds to measure for; 45, if left out")
    ] = None,
    run: Annotated[
        Path | None, typer.Option(help="a run of attncost measure to show instead of a new one")
    ] = None,
    no_measure: Annotated[
        bool, typer.Option("--no-measure", help="formulas alone, in seconds")
    ] = False,
    calibration: Annotated[
        Path | None,
        typer.Option(help="of this machine, to predict times from; made anew, if left out"),
    ] = None,
    brief: Annotated[
        bool, typer.Option("--brief", help="no predicted times, no visit of the doctor, no maps")
    ] = False,
    beside: Annotated[
        str, typer.Option(help="a preset to price beside it, or none")
    ] = "llama-3-8b",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="a page, or .md, .json or .txt by its name")
    ] = _PAGE,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON too, no lines")] = False,
) -> None:
    """Report what attention costs, by formula and measured here.

    For instance: attncost report demo -o page.html
    """
    from attncost.cost.reading import preset
    from attncost.measure.subjects.target import target
    from attncost.report.findings import priced_lengths
    from attncost.report.findings import report as gathered
    from attncost.report.forms import form_of

    chosen = target(model)
    other = None if beside == "none" else preset(beside)
    written = form_of(output)
    read = _text(chosen, text, batch)
    shown = {"text": text, "batch": batch, "beside": beside}
    how = {"lengths": lengths, "rounds": rounds, "budget": budget}
    around = {"calibration": calibration, "brief": brief}
    if run and no_measure:
        raise ShapeError("--run shows what was measured, --no-measure nothing: leave one out.")
    priced = no_measure or not (run or chosen.lengths)
    if priced or run:
        _left_out(how, chosen if not (run or no_measure) else None)
    if priced:
        _left_out({name: value or None for name, value in around.items()}, None)
    if calibration and brief:
        raise ShapeError("--calibration is there to predict from, which --brief leaves out.")
    known = None if calibration is None else calibration_in(calibration)
    _check_pages(output, maps=not (priced or brief) and has_maps(chosen))
    material = called(chosen, lengths=priced_lengths(chosen))
    timing = None if priced else taken(run, chosen) if run else timed(chosen, how)
    if timing:
        material = replace(material, attachments=samples_of(timing.run))
    if timing and not brief:
        material = beside_measurements(material, timing, model=chosen.name, known=known)
        material = with_maps(material, chosen, text=text, page=maps_beside(output))
        material = with_quality(material, chosen, text=text)
    if read and material.calibration:
        material = _with_batches(material, read, chosen)
    formulas = {"text": text, "batch": batch, "no_measure": bool(chosen.lengths), "beside": "none"}
    whole = formulas if priced else shown | how | around | {"run": run}
    document = gathered(
        chosen,
        replace(material, text=read, timing=timing, beside=other),
        command=command("report", [model], changed(report, whole)),
        formulas=command("report", [model], changed(report, formulas)),
    )
    write(output, written(document))
    _print(document, output, as_json=as_json)


def _left_out(how: dict[str, Any], preset: "Target | None") -> None:
    """Refuse what would be dropped in silence."""
    for name, wish in how.items():
        if wish is not None:
            reason = "--run and --no-measure measure nothing"
            if preset:
                reason = f"{preset.name} has no weights here to measure"
            raise ShapeError(f"{reason}: leave --{name} out.")


def _text(chosen: "Target", path: Path | None, batch: int) -> "Text | None":
    """Count the tokens of each line, before anything long begins; None for a model of images."""
    from attncost.core.example import example_text

    check_lines(batch)
    if chosen.sizes is None or (path is None and reads_images(chosen)):
        what = (
            "reads images, no text"
            if chosen.sizes
            else "names a function, whose texts nobody knows"
        )
        for option in changed(report, {"text": path, "batch": batch}):
            raise ShapeError(f"{chosen.name} {what}: leave --{option} out.")
        return None
    return counted_text(chosen, path or example_text(), batch=batch)


def _with_batches(material: "Material", text: "Text", chosen: "Target") -> "Material":
    """Add what foretells the time of batches, or the reason why nothing does."""
    assert material.calibration
    longest = max(text.kept(chosen.configuration.longest))
    try:
        machine = foretold(chosen.name, material.calibration, longest=longest)
    except AttnCostError as error:
        missing = (*material.missing, f"Predicted times of batches: {error}")
        return replace(material, missing=missing)
    return replace(material, machine=machine)


def _check_pages(output: Path, *, maps: bool) -> None:
    """Refuse pages that cannot be written, before anything long begins."""
    check_writable(output)
    if maps:
        check_writable(maps_beside(output))


def _print(document: "Document", output: Path, *, as_json: bool) -> None:
    from attncost.report.plain import dumped

    if as_json:
        typer.echo(dumped(document))
        return
    lines = [document.title, *(f"  {finding.text}" for finding in document.findings)]
    lines.append(f"The page: {output.resolve()}")
    if maps := document.facts.get("attends", {}).get("page"):
        lines.append(f"The maps: {output.with_name(maps).resolve()}")
    typer.echo(shown("\n".join(lines)))
