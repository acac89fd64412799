"""The document of a plan: what fits, where the memory goes, what if, how fast, at what price."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from attncost.core.units import show
from attncost.cost.configuration import Configuration, Work
from attncost.cost.planning.fit import Fit
from attncost.cost.planning.sharding import Sharding
from attncost.cost.planning.situation import WORKS, Situation
from attncost.mechanisms.spelling import spelling
from attncost.patterns.window import Window
from attncost.report.document import Chapter, Column, Document, Finding, Section, Table
from attncost.report.fitting import facts, findings, greatest, what_fits
from attncost.report.held import held, over_length
from attncost.report.planning import Request
from attncost.report.priced import key, leading
from attncost.report.tried import speeds, tried, what_if
from attncost.report.what_ifs import GIB, MEMORIES, readable

_SCHEMA: Final = "attncost.plan/1"
# What a chapter of a report tries.
_LENGTHS: Final = (8192, 32768, 131072)
_WINDOW: Final = Window(4096)
_LEFT_OUT: Final = (
    "Weights, gradients, optimizer, cache and states are exact, on one device. Tensor parallel "
    "devices share norms here, which each of them holds whole, and int8, int4 and fp8 have no "
    "scales here. Activations and logits are estimates of a plain implementation in PyTorch. Left "
    "out: what a driver and libraries take for themselves, what an allocator wastes, buffers of "
    "messages between devices."
)


def plan_document(request: Request) -> Document:
    """Return what fits, and at what price."""
    model, command = request.models[request.own], request.command
    return Document(
        schema=_SCHEMA,
        title=f"What fits of {request.name} in {show(request.memory, 'bytes')}",
        subtitle=_situation(request),
        command=command,
        findings=findings(request),
        sections=(
            *what_fits(request),
            *(held(way, command=command) for way in request.main),
            *what_if(request),
            *speeds(request),
            Section(title="What is counted", text=(_LEFT_OUT, *model.notes)),
        ),
        facts={
            "model": request.name,
            "source": model.source,
            "memory": request.memory,
            "device": request.device or None,
            "parameters": int(model.parameters),
            "kv_bytes_per_token_16bit": int(model.kv_bytes_per_token()),
            "plans": facts(request),
        },
    )


def plan_chapter(name: str, model: Configuration, *, memories: Sequence[int] = MEMORIES) -> Chapter:
    """Return the longest sequences that fit into devices of some sizes.

    Args:
        name: The model as it is typed.
        model: Its sizes.
        memories: GiB of a device, increasing; the last is spoken of and drawn.
    """
    requests = [_request(name, model, memory=size) for size in memories]
    last = requests[-1]
    longest = {one.memory: {way.how.work: way.longest() for way in one.main} for one in requests}
    columns = (Column(way.how.work, "tokens") for way in last.main)
    table = Table(
        title=f"Longest sequence of {model.name} that fits, one at a time",
        columns=(Column("memory", "bytes"), *columns),
        rows=tuple((size, *map(greatest, found.values())) for size, found in longest.items()),
        note="With a fused kernel, everything in bfloat16, training by AdamW.",
        command=last.command,
    )
    drawn = (over_length(way, batch=1, command=last.command) for way in last.main)
    prefill = (tried(way) for way in last.ways("prefill") if last.lengths)
    section = Section(
        title=f"What fits of {model.name}", text=(_LEFT_OUT,), blocks=(table, *prefill, *drawn)
    )
    return Chapter(_findings(model, last, longest[last.memory]), section)


def _request(name: str, model: Configuration, *, memory: int) -> Request:
    """Return what a report asks of every model: each work that it can do."""
    models = {spelling(model.attention) if model.attention else "own": model}
    works = [work for work in WORKS if work != "decode" or model.caches]
    lengths = tuple(n for n in _LENGTHS if model.longest is None or n <= model.longest)
    windowed = readable(model, _WINDOW) if model.caches and lengths else None
    if windowed:
        models.setdefault(spelling(_WINDOW), windowed)
    options = f" --lengths {','.join(map(str, lengths))}" if lengths else ""
    options += "".join(f" --pattern {attention}" for attention in list(models)[1:])
    return Request(
        name=name,
        models=models,
        memory=memory * GIB,
        situations=tuple(Situation(work=work) for work in works),
        lengths=lengths,
        command=f"attncost plan {shlex.quote(name)} --memory {memory}GiB{options}",
    )


def _findings(
    model: Configuration, request: Request, longest: Mapping[Work, Fit]
) -> tuple[Finding, ...]:
    """Say what memory allows; nothing of a model whose positions end before the memory does."""
    if all(fit.limit == "positions" for fit in longest.values()):
        return ()
    said = ", ".join(f"{work} {_tokens(fit)}" for work, fit in longest.items())
    finding = Finding(
        key=f"fits_{key(model)}",
        text=f"{leading(model.name)}, tokens in {request.memory // GIB} GiB: {said}.",
        values={"memory": request.memory} | {work: fit.greatest for work, fit in longest.items()},
        command=request.command,
    )
    return (finding,)


def _tokens(fit: Fit) -> str:
    size = greatest(fit)
    return size if isinstance(size, str) else show(size, "tokens")


def _situation(request: Request) -> str:
    """Say how it is run, in a line."""
    how = request.situations[0]
    device = f"{request.device}; " if request.device else ""
    devices = "".join(
        f"; {way.how.work} on {way.how.sharding.devices:,} devices ({shared(way.how.sharding)})"
        for way in request.main
        if way.how.sharding.devices > 1
    )
    kinds = {"weights": how.weights, "cache": how.kv, "activations": how.activations}
    alike = len(set(kinds.values())) == 1
    said = f"all in {how.weights}" if alike else ", ".join(map(" in ".join, kinds.items()))
    return f"{device}{said}{devices}"


def shared(sharding: Sharding) -> str:
    """Say how devices share a model."""
    if sharding.tensor > 1:
        return "tensor and sequence parallel" if sharding.sequence else "tensor parallel"
    return ("data parallel", "ZeRO 1", "ZeRO 2", "FSDP")[sharding.zero]
