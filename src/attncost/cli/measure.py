"""`attncost measure`: time and memory of a layer or a model over the length."""

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from attncost.cli._command import command
from attncost.cli._lists import names, numbers
from attncost.cli._sweep import fresh_run, swept

if TYPE_CHECKING:
    from collections.abc import Iterator

_LAYER: Final = "layer:d_model=512,heads=8"


def measure(
    model: Annotated[str, typer.Argument(help="a layer, a folder or demo")] = _LAYER,
    lengths: Annotated[
        str | None, typer.Option(help="tokens, such as 64,128,256; the model's own, if left out")
    ] = None,
    attention: Annotated[
        str | None,
        typer.Option(help="naive, patterns, such as naive,window:width=64; all, if left out"),
    ] = None,
    qkv: Annotated[
        str | None, typer.Option(help="separate, fused; what the model has, if left out")
    ] = None,
    rounds: Annotated[int, typer.Option(help="samples of each length")] = 9,
    budget: Annotated[float, typer.Option(help="seconds after which no round begins")] = 120,
    seed: Annotated[int, typer.Option(help="of the order of samples")] = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="a new folder for the samples")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda")] = "cpu",
    as_json: Annotated[bool, typer.Option("--json", help="print JSON")] = False,
) -> None:
    """Measure time and memory over the length.

    For instance: attncost measure --attention naive,full --lengths 64,512
    """
    from attncost.measure.clocks.clock import clock_for
    from attncost.measure.store.summary import measured
    from attncost.measure.sweep.sweep import Plan
    from attncost.measure.sweep.target import target
    from attncost.report.measured import run_document
    from attncost.report.plain import dumped
    from attncost.report.text import text

    clock, chosen = clock_for(device), target(model)
    with _default_device(device):
        subjects = chosen.subjects(names(attention), names(qkv))
        wanted = chosen.lengths if lengths is None else numbers(lengths)
        plan = Plan(lengths=wanted, rounds=rounds, seed=seed, budget=budget)
        # Defaults are written out: the run can be repeated whatever they will be.
        wishes = {
            "lengths": ",".join(map(str, plan.lengths)),
            "attention": attention,
            "qkv": qkv,
            "rounds": rounds,
            "budget": budget,
            "seed": seed,
            "device": device,
        }
        facts = {"model": chosen.name, "command": command("measure", [model], wishes)}
        path = output or fresh_run()
        where, samples = swept(subjects, plan, clock, path, facts=facts)
    document = run_document(
        measured(samples), run=str(path), environment=where, notes=where["notes"]
    )
    typer.echo(dumped(document) if as_json else text(document))


@contextmanager
def _default_device(device: str) -> "Iterator[None]":
    """Put what is created on a device; on a CPU, where it is anyway, no operation is slowed."""
    if device == "cpu":
        yield
        return
    import torch

    with torch.device(device):
        yield
