"""`attncost plan`: the longest sequence and the largest batch that fit, how fast, at what price."""

from pathlib import Path
from typing import Annotated, Final

import typer

from attncost.cli._batching import batching
from attncost.cli._command import changed
from attncost.cli._fitting import fitting
from attncost.cli._foretold import check_time, with_times
from attncost.cli._plan_options import check_memory
from attncost.cli._printed import printed

_NEITHER: Final = ("model", "as_json")  # is an option of the plan itself


def plan(
    model: Annotated[
        str, typer.Argument(help="demo, a layer, a folder, a preset, package.module:factory")
    ],
    memory: Annotated[
        str | None, typer.Option(help="of a device, such as 80GiB, or a GPU's name, such as H100")
    ] = None,
    works: Annotated[
        list[str] | None,
        typer.Option("--for", help="prefill, decode or training; all, if left out"),
    ] = None,
    length: Annotated[
        str | None,
        typer.Option(help="tokens of a sequence, such as 8k (8,192): asks for the batch"),
    ] = None,
    batch: Annotated[
        int | None, typer.Option(help="sequences on all devices: asks for the length")
    ] = None,
    lengths: Annotated[str | None, typer.Option(help="what to try, such as 8k,32k,128k")] = None,
    patterns: Annotated[
        list[str] | None, typer.Option("--pattern", help="to try instead, such as window:4096")
    ] = None,
    kernels: Annotated[
        list[str] | None, typer.Option("--kernel", help="fused or naive; both, if left out")
    ] = None,
    weights: Annotated[str, typer.Option(help="their precision, such as int4")] = "bf16",
    kv: Annotated[str, typer.Option(help="that of keys and values, such as fp8")] = "bf16",
    activations: Annotated[str, typer.Option(help="that of everything else")] = "bf16",
    page: Annotated[int, typer.Option(help="tokens that a cache reserves at a time")] = 1,
    checkpointing: Annotated[
        bool, typer.Option("--checkpointing", help="keep inputs of layers alone in training")
    ] = False,
    optimizer: Annotated[str, typer.Option(help="adamw, momentum or sgd")] = "adamw",
    gpus: Annotated[int, typer.Option(help="devices that share the model")] = 1,
    share: Annotated[
        str | None,
        typer.Option(help="tensor, data, zero1, zero2 or fsdp; left out: tensor, in training fsdp"),
    ] = None,
    sequence_parallel: Annotated[
        bool, typer.Option("--sequence-parallel", help="split the rest, with --share tensor")
    ] = False,
    price: Annotated[
        float | None, typer.Option(help="of a device and an hour, such as 2.50")
    ] = None,
    calibration: Annotated[
        Path | None, typer.Option(help="rates that were measured, instead of a GPU's peaks")
    ] = None,
    time: Annotated[
        bool, typer.Option("--time", help="predict it on this machine, with --calibration")
    ] = False,
    text: Annotated[
        Path | None, typer.Option(help="compares ways to put its lines into batches")
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="time these ways here, with --text")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, every digit")] = False,
) -> None:
    """Plan what fits into memory, before anything runs, or how to put a text into batches.

    Exit status 1: a work that --for names does not fit, or without it none does.

    For instance: attncost plan llama-3-8b --memory H100 --for decode --length 8k --price 2.50
    """
    given = dict(locals())

    wished = changed(plan, {name: given[name] for name in given if name not in _NEITHER})
    check_time(given)
    check_memory(memory)
    if text is not None:
        document, fits = batching(given, wished)
    else:
        document, answers = fitting(given, wished)
        document = with_times(document, given) if time else document
        fits = all(answers) if works else any(answers)
    printed(document, as_json=as_json)
    if not fits:
        raise typer.Exit(1)
