"""`attncost plan`: the longest sequence and the largest batch that fit, how fast, at what price."""

from collections.abc import Collection, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from attncost.cli._command import changed, command
from attncost.cli._devices import Shared, named, rates
from attncost.cli._foretold import check_time, with_times
from attncost.cli._magnitudes import tokens
from attncost.cli._trial import WORKS, ran, runnable
from attncost.core.errors import AttnCostError, ShapeError, UnknownName, UnsupportedOption

if TYPE_CHECKING:
    from attncost.cost.configuration import Configuration, Work
    from attncost.cost.planning.situation import Situation
    from attncost.integrations.sizes import Sized
    from attncost.patterns.interface import Pattern
    from attncost.report.document import Document
    from attncost.report.planning import Request

# What an option is called where that is no name of a parameter, or no plural.
_TYPED: Final = {"works": "for", "patterns": "pattern", "kernels": "kernel"}
# What says nothing of some works.
_TRAINING: Final = ("checkpointing", "optimizer")
_MOST: Final = 1 << 30
_SERVING: Final = ("kv", "page")
_NEITHER: Final = ("model", "as_json")  # is an option of the plan itself
# What a module that is run is asked; formulas know the rest.
_RUN: Final = ("memory", "works", "length", "batch", "lengths", "optimizer")
_TIMED: Final = (*_RUN, "time", "calibration")


def plan(
    model: Annotated[
        str, typer.Argument(help="demo, a layer, a folder, a preset, package.module:factory")
    ],
    memory: Annotated[
        str, typer.Option(help="of a device, such as 80GiB, or a GPU's name, such as H100")
    ],
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
    as_json: Annotated[bool, typer.Option("--json", help="print JSON, every digit")] = False,
) -> None:
    """Plan what fits into memory, before anything runs.

    Exit status 1: a work that --for names does not fit, or without it none does.

    For instance: attncost plan llama-3-8b --memory H100 --for decode --length 8k --price 2.50
    """
    given = dict(locals())
    from attncost.report.plain import dumped
    from attncost.report.text import text

    check_time(given)
    document, answers = _planned(given)
    document = with_times(document, given) if time else document
    typer.echo(dumped(document) if as_json else text(document))
    if not (all(answers) if works else any(answers)):
        raise typer.Exit(1)


def _planned(given: dict[str, Any]) -> "tuple[Document, list[bool]]":
    """Return what fits and whether it is what was asked for, of each work."""
    from attncost.integrations.sizes import sized
    from attncost.report.planned import plan_document

    try:
        model = sized(given["model"])
    except (UnknownName, UnsupportedOption) as error:
        return _run(given, error)
    request = _request(model, given)
    return plan_document(request), [way.answer() for way in request.main]


def _run(given: dict[str, Any], reason: AttnCostError) -> "tuple[Document, list[bool]]":
    """Return the same of a model whose sizes are not understood."""
    from attncost.cost.planning.sizes import memory_of
    from attncost.report.ran import Trial, ran_document

    model, why = runnable(given["model"], reason)
    _check_run(model.name, given)
    memory, device = memory_of(given["memory"]), named(given["memory"])
    works = ran(model, given, memory=memory)
    trial = Trial(
        name=model.name,
        why=why,
        memory=memory,
        device=device.title if device else "",
        optimizer=given["optimizer"],
        works=works,
        command=_again(given),
    )
    return ran_document(trial), [one.answer(memory) for one in works]


def _check_run(name: str, given: dict[str, Any]) -> None:
    """Refuse what only formulas know."""
    options = {option: value for option, value in given.items() if option not in _NEITHER}
    for option in changed(plan, options):
        if option not in (_TIMED if given["time"] else _RUN):
            typed = _TYPED.get(option, option).replace("_", "-")
            raise ShapeError(
                f"--{typed} is known to formulas alone, and {name} is run, as no formula describes "
                "it: leave it out."
            )
    works = given["works"] or WORKS
    _check_known("work", works, WORKS)
    _check_batch(given["batch"])
    if "training" not in works and changed(plan, {"optimizer": given["optimizer"]}):
        raise ShapeError("--optimizer changes nothing in prefill: leave it out.")


def _request(found: "Sized", given: dict[str, Any]) -> "Request":
    from attncost.cost.planning.sizes import memory_of
    from attncost.report.planning import Request

    memory, device = memory_of(given["memory"]), named(given["memory"])
    known = rates(device, given["calibration"], activations=given["activations"])
    _check_price(given["price"], known=known is not None)
    length, batch = given["length"], given["batch"]
    _check_batch(batch)
    return Request(
        name=found.name,
        models=_models(found.configuration, given["patterns"] or ()),
        memory=memory,
        device=device.title if device else "",
        situations=_situations(found.configuration, given),
        length=length and _length(length, "--length", found.configuration),
        batch=batch,
        lengths=_lengths(given["lengths"], found.configuration),
        rates=known,
        price=given["price"],
        command=_again(given),
    )


def _again(given: dict[str, Any]) -> str:
    options = {name: value for name, value in given.items() if name not in _NEITHER}
    typed = {_TYPED.get(name, name): value for name, value in changed(plan, options).items()}
    return command("plan", [given["model"]], typed)


def _check_batch(batch: int | None) -> None:
    if batch is not None and not 1 <= batch <= _MOST:
        raise ShapeError(f"--batch must lie between 1 and {_MOST:,}, got {batch}.")


def _check_price(price: float | None, *, known: bool) -> None:
    if price is None:
        return
    if not known:
        raise ShapeError(
            "--price needs what a device does in a second: give --memory a GPU's name, or "
            "--calibration a file."
        )
    if not 0 <= price <= _MOST:
        raise ShapeError(f"--price must lie between 0 and {_MOST:,}, got {price:g}.")


def _length(text: str, of: str, model: "Configuration") -> int:
    found = tokens(text, of=of)
    if model.longest is not None and found > model.longest:
        raise ShapeError(
            f"{model.name} has positions for {model.longest:,} tokens, got {of} {text}: plan "
            "shorter ones."
        )
    return found


def _lengths(text: str | None, model: "Configuration") -> tuple[int, ...]:
    items = [] if text is None else text.split(",")
    return tuple(sorted({_length(item, "--lengths", model) for item in items}))


def _situations(model: "Configuration", given: dict[str, Any]) -> "tuple[Situation, ...]":
    from attncost.cost.planning.situation import KERNELS, STATES, Situation

    works = _works(model, given)
    shared = Shared(gpus=given["gpus"], share=given["share"], sequence=given["sequence_parallel"])
    kernels = list(dict.fromkeys(given["kernels"] or KERNELS))
    _check_known("kernel", kernels, KERNELS)
    _check_known("optimizer", [given["optimizer"]], STATES)
    same = {name: given[name] for name in ("weights", "activations", *_SERVING, *_TRAINING)}
    return tuple(
        Situation(work=work, kernel=kernel, sharding=shared.of(work), **same)
        for work in works
        for kernel in kernels
    )


def _check_known(kind: str, asked: Sequence[str], known: Collection[str]) -> None:
    for name in asked:
        if name not in known:
            raise UnknownName(kind, name, known)


def _works(model: "Configuration", given: dict[str, Any]) -> "list[Work]":
    """Return what to plan: what was asked for, or all that the model and the precision allow."""
    from attncost.cost.planning.precision import precision
    from attncost.cost.planning.situation import WORKS

    asked = list(dict.fromkeys(given["works"] or ()))
    _check_known("work", asked, WORKS)
    if "decode" in asked and not model.caches:
        raise ShapeError(
            f"{model.name} keeps nothing of past tokens, so it decodes none: plan prefill."
        )
    trains = precision(given["weights"]) in ("float32", "bfloat16", "float16")
    if "training" in asked and not trains:
        raise ShapeError(
            f"--weights {given['weights']} cannot be trained: give 16 or 32 bits, such as bf16."
        )
    left_out = {"training": not trains, "decode": not model.caches}
    works = asked or [work for work in WORKS if not left_out.get(work)]
    for names, needed in ((_TRAINING, {"training"}), (_SERVING, {"prefill", "decode"})):
        for name in changed(plan, {name: given[name] for name in names}):
            if not needed & set(works):
                raise ShapeError(
                    f"--{name} changes nothing in {' and '.join(works)}: leave it out, or add "
                    f"--for {min(needed)}."
                )
    return works


def _models(model: "Configuration", asked: Sequence[str]) -> "dict[str, Configuration]":
    from attncost.mechanisms.spelling import spelling

    own = model.attention
    found = {spelling(own) if own else "own": model}
    for text in asked:
        if not model.patterns:
            raise ShapeError(f"{model.name} has no softmax attention that {text} could replace.")
        pattern = _pattern(text)
        found.setdefault(spelling(pattern), model.reading(pattern))
    return found


def _pattern(text: str) -> "Pattern":
    """Read a pattern; a number alone is its first size."""
    from attncost import patterns
    from attncost.core.spelling import whole
    from attncost.mechanisms.spelling import spelled
    from attncost.patterns.interface import Pattern

    name, _, rest = text.partition(":")
    if whole(rest) is not None and name in patterns.names():
        sizes: Any = patterns.load(name)  # a dataclass, which the interface does not say
        text = f"{name}:{fields(sizes)[0].name}={rest}" if fields(sizes) else text
    found = spelled(text)
    if not isinstance(found, Pattern):
        raise ShapeError(
            f"--pattern takes a pattern such as window:width=4096, got {text}, an approximation "
            "that is trained for one length."
        )
    return found
