"""`attncost measure`: time and memory of a layer or a model over the length."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from attncost.cli._cells import again, asked
from attncost.cli._command import changed, command
from attncost.cli._printed import printed
from attncost.cli._progress import held
from attncost.cli._sweep import Swept, fresh_run, resumed, swept
from attncost.core.errors import ShapeError

_LAYER: Final = "layer:d_model=512,heads=8"
# What says how to go on with a run, or how to print it, and not what it is.
_BESIDE: Final = ("resume", "across_environments", "as_json")
_CALIBRATION: Final = Path("calibration.json")


def measure(
    model: Annotated[
        str, typer.Argument(help="a layer, a folder, demo, package.module:factory")
    ] = _LAYER,
    lengths: Annotated[
        str | None, typer.Option(help="tokens, such as 64,128,256; the model's own, if left out")
    ] = None,
    attention: Annotated[
        str | None,
        typer.Option(help="naive, patterns, such as naive,window:width=64; all, if left out"),
    ] = None,
    kernel: Annotated[
        str | None, typer.Option(help="of a layer, such as sdpa,reference; auto, if left out")
    ] = None,
    qkv: Annotated[
        str | None, typer.Option(help="separate, fused; what the model has, if left out")
    ] = None,
    batch: Annotated[str, typer.Option(help="sequences in a call, such as 1,4")] = "1",
    dtype: Annotated[str, typer.Option(help="of numbers, such as float32,bfloat16")] = "float32",
    mode: Annotated[str, typer.Option(help="forward, training, decode")] = "forward",
    threads: Annotated[str, typer.Option(help="of the CPU, such as 1,2")] = "1",
    device: Annotated[str, typer.Option(help="cpu or cuda")] = "cpu",
    rounds: Annotated[int, typer.Option(help="samples of each cell, at most")] = 40,
    budget: Annotated[
        str, typer.Option(help="time after which no round begins, such as 120s or 2m")
    ] = "120s",
    enough: Annotated[
        float, typer.Option(help="95 % interval of every exponent that is narrow enough to stop")
    ] = 0.1,
    seed: Annotated[int, typer.Option(help="of the order of samples")] = 0,
    isolate: Annotated[
        bool, typer.Option("--isolate", help="run each subject in a process of its own")
    ] = False,
    memory: Annotated[
        str | None, typer.Option(help="with --isolate: of a process, such as 4GiB")
    ] = None,
    deadline: Annotated[
        str | None, typer.Option(help="with --isolate: for a sample, such as 60s")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="a new folder for the samples")
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="the folder of a run that was stopped, to go on with")
    ] = None,
    across_environments: Annotated[
        bool,
        typer.Option("--across-environments", help="with --resume: although machines differ"),
    ] = False,
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="measure this machine instead, into the file of -o"),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> int:
    """Measure time and memory over the length.

    For instance: attncost measure --attention naive,full --lengths 64,512

    A cell is a subject at a length, in a batch, type, mode and number of threads. All cells are
    sampled in rounds, in random order, until the growth of time is known well enough, or the
    rounds or the budget are spent. Exit status 1: no cell could run.
    """
    given = dict(locals())
    if calibrate:
        _calibrated(given)
        return 0
    if resume is None:
        if across_environments:
            raise ShapeError("--across-environments goes on with a run: add --resume RUN.")
        found = _measured(given)
    else:
        _left_out(given, _BESIDE, "--resume takes everything from the run")
        found = resumed(resume, across_environments=across_environments)
    _print(found, as_json=as_json)
    return 0 if found.outcome.ended != "nothing" else 1


def _left_out(given: dict[str, Any], beside: Collection[str], reason: str) -> None:
    """Refuse what would be dropped in silence."""
    options = {name: value for name, value in given.items() if name not in beside}
    for name in changed(measure, options):
        typed = "MODEL" if name == "model" else f"--{name.replace('_', '-')}"
        raise ShapeError(f"{reason}: leave {typed} out.")


def _calibrated(given: dict[str, Any]) -> None:
    from attncost.cli._calibration import calibrated

    _left_out(given, ("calibrate", "output", "as_json"), "--calibrate measures no model")
    path = given["output"] or _CALIBRATION
    again = command("measure", [], {"calibrate": True, "output": given["output"]})
    with held("cpu"):
        document = calibrated(path, command=again)
    printed(document, as_json=given["as_json"])


def _measured(given: dict[str, Any]) -> Swept:
    from attncost.measure.subjects.target import target

    chosen = target(given["model"])
    task = asked(given, chosen)
    facts = {"model": chosen.name, "command": again(given, task)}
    if given["lengths"] is None and chosen.note:
        facts["note"] = chosen.note
    return swept(task, given["output"] or fresh_run(), facts=facts)


def _print(found: Swept, *, as_json: bool) -> None:
    from attncost.report.measured import medians, run_document

    document = run_document(
        medians(found.samples),
        run=str(found.path),
        environment=found.environment,
        outcome=found.outcome,
    )
    printed(document, as_json=as_json)
