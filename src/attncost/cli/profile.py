"""`attncost profile`: where the time of a call goes, by kind of work, module and operator."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from attncost.cli._command import changed, command
from attncost.cli._output import check_writable
from attncost.cli._printed import printed
from attncost.cli._progress import held
from attncost.core.errors import ShapeError

if TYPE_CHECKING:
    from attncost.measure.attribution.profiled import Profile
    from attncost.measure.attribution.real import Real

_MOST: Final = 1024  # threads


def profile(
    model: Annotated[
        str, typer.Argument(help="a layer, demo, a folder with weights, package.module:factory")
    ] = "layer:d_model=512,heads=8",
    length: Annotated[
        int | None,
        typer.Option(
            help="tokens of a sequence; left out: 512, or fewer if the model takes no more"
        ),
    ] = None,
    batch: Annotated[int | None, typer.Option(help="sequences; 1, if left out")] = None,
    training: Annotated[
        bool, typer.Option("--training", help="forward and backward, in the mode of training")
    ] = False,
    threads: Annotated[int, typer.Option(help="of the CPU; with one, CPU time is compared")] = 1,
    rounds: Annotated[
        int, typer.Option(help="calls to record, and to time with and without the profiler")
    ] = 15,
    trace: Annotated[
        Path | None, typer.Option(help="a file for Perfetto or chrome://tracing, one call")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, every digit")] = False,
) -> None:
    """Find where the time of a call goes: by kind of work, by module and by operator.

    For instance: attncost profile demo --length 128 --trace trace.json
    """
    from attncost.measure.attribution.real import real
    from attncost.measure.clocks.threads import threads as given
    from attncost.report.profiled import Profiled, profile_document

    if not 1 <= threads <= _MOST:
        raise ShapeError(f"--threads must lie between 1 and {_MOST}, got {threads}.")
    if trace is not None:
        check_writable(trace, option="--trace FILE")
    wishes: dict[str, object] = {"length": length, "batch": batch, "training": training}
    wishes |= {"threads": threads, "rounds": rounds, "trace": trace}
    again = command("profile", [model], changed(profile, wishes))
    with given(threads), _told(f"profiling {model} ..."):
        chosen = real(model, length=length, batch=batch)
        found = _profiled(chosen, training=training, rounds=rounds)
    if trace is not None:
        found.chrome_trace(trace)
    document = profile_document(
        Profiled(
            name=chosen.name,
            found=found,
            length=chosen.length,
            batch=chosen.batch,
            command=again,
            trace=None if trace is None else str(trace),
        )
    )
    printed(document, as_json=as_json)


def _profiled(chosen: "Real", *, training: bool, rounds: int) -> "Profile":
    import torch

    from attncost.integrations.theirs import foreign
    from attncost.measure.attribution.profile import profile as profiled

    module = chosen.module.train(training)
    on_gpu = any(parameter.is_cuda for parameter in module.parameters())
    device = held("cuda" if on_gpu else "cpu")
    with device, foreign(chosen.name), torch.set_grad_enabled(training):
        return profiled(module, *chosen.inputs, training=training, rounds=rounds, **chosen.options)


@contextmanager
def _told(sentence: str) -> Iterator[None]:
    """Show a line on a terminal while it lasts; one that moves would be charged to the call."""
    if not sys.stderr.isatty():
        yield
        return
    typer.echo(sentence, err=True, nl=False)
    try:
        yield
    finally:
        typer.echo("\r\x1b[K", err=True, nl=False)
