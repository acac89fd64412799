"""The document of a count: totals, steps, modules, conventions, what has no price."""

from collections import Counter
from dataclasses import asdict
from typing import Any, Final

from attncost.core.cost import Cost
from attncost.core.units import show
from attncost.cost.conventions import convention
from attncost.cost.counting.counted import CORE, Counted
from attncost.cost.counting.registry import ACTIVATIONS, ATTENTION
from attncost.cost.memory.footprint import Footprint
from attncost.report.bounds import bounded, exactness, least, why_at_most
from attncost.report.conventions import Utilisation, as_others, by_convention, used
from attncost.report.document import Column, Document, Finding, Section, Table
from attncost.report.folded import CONTAINERS, ROWS, fitting, folded, nested, tree
from attncost.report.remembered import memory_facts, memory_finding, memory_sections
from attncost.report.subject import TOTALS, Subject

_SCHEMA: Final = "attncost.count/1"
_BY_HAND: Final = "products of two activations"


def count_document(
    subject: Subject,
    *,
    depth: int | None = None,
    utilisation: Utilisation | None = None,
    memory: Footprint | None = None,
) -> Document:
    """Return what a model costs, and where.

    Args:
        subject: The model.
        depth: Modules in modules to show; as many as fit a screen, if left out.
        utilisation: What a speed comes to, if one was given.
        memory: What the same call holds in memory, if that was asked for.
    """
    counted, command = subject.counted, subject.command
    findings, found = (
        [*used(subject, utilisation, command=command), *totals(subject)],
        facts(subject),
    )
    sections = [
        Section(title="By step", blocks=(by_step(counted, command=command),)),
        Section(title="By module", blocks=(by_module(counted, depth=depth, command=command),)),
    ]
    sections.append(as_others(subject, utilisation))
    if counted.unpriced:
        sections.append(Section(title="Without a price", blocks=(unpriced(counted, command),)))
    if memory is not None:
        findings.append(memory_finding(memory, command=command))
        sections += memory_sections(
            memory, counted.modules, training=subject.training, depth=depth, command=command
        )
        found["memory"] = memory_facts(memory)
    return Document(
        schema=_SCHEMA,
        title=f"{subject.name} ({counted.name}): {subject.sizes}",
        subtitle=exactness(counted),
        command=command,
        findings=tuple(findings),
        sections=tuple(sections),
        facts={"models": [found]},
    )


def totals(subject: Subject) -> tuple[Finding, ...]:
    """Return what is known of the whole, a sentence each."""
    counted, command = subject.counted, subject.command
    beyond = least(counted)
    useful, dense, executed = (
        show(flops, "flops") for flops in (counted.useful, counted.dense, counted.executed)
    )
    found = [
        Finding(
            key="flops",
            text=(
                f"{bounded(counted, f'{useful} useful')}, {beyond}{dense} dense, "
                f"{beyond}{executed} executed"
            ),
            values={name: subject.totals[name] for name in ("useful", "dense", "executed")},
            command=command,
        ),
        Finding(
            key="attention",
            text=_share(counted),
            values={"share": counted.attention_share},
            command=command,
        ),
        Finding(
            key="rest",
            text=(
                f"{beyond}{show(counted.elementwise, 'count')} elementwise operations, "
                f"{beyond}{show(counted.bytes, 'bytes')} moved: {show(counted.intensity, 'count')} "
                "FLOPs a byte"
            ),
            values={"intensity": counted.intensity},
            command=command,
        ),
        Finding(
            key="memory",
            text=_memory(subject),
            values={
                "parameters": counted.parameters,
                "kv_bytes_per_token": subject.kv_bytes_per_token,
            },
            command=command,
        ),
    ]
    if counted.at_most:
        found.append(Finding(key="at_most", text=why_at_most(counted), command=command))
    return tuple(found)


def _share(counted: Counted) -> str:
    if not counted.core.useful:
        return "none of the useful FLOPs are attention's"
    share = f"{show(counted.attention_share, 'percent')} of the useful FLOPs are"
    whose = _core(counted)
    return f"{share} attention's" if whose == ATTENTION else f"{share} those of {whose}"


def _core(counted: Counted) -> str:
    """Name what `Counted.core` is made of: an operator of attention, products by hand, or both."""
    steps = {row.step for row in counted.rows if row.step in CORE and row.cost.useful}
    if ACTIVATIONS not in steps:
        return ATTENTION
    return _BY_HAND if ATTENTION not in steps else f"attention and other {_BY_HAND}"


def _memory(subject: Subject) -> str:
    text, kv = f"{subject.counted.parameters:,} parameters", subject.kv_bytes_per_token
    if kv is not None:
        return f"{text}; {kv:,} bytes of keys and values a token in 16 bit"
    unknown = subject.configuration is None
    return f"{text}; KV bytes: not known for this architecture" if unknown else text


def by_step(counted: Counted, *, command: str) -> Table:
    """Return the cost of every step, dearest first."""
    rows = tuple(
        (
            step,
            int(cost.useful) or None,
            int(cost.useful) / counted.useful if counted.useful and cost.useful else None,
            int(cost.executed) or None,
            int(cost.elementwise),
            int(cost.bytes),
        )
        for step, cost in counted.by_step.items()
    )
    return Table(
        title="Cost of each step",
        columns=(
            Column("step"),
            Column("useful", "flops"),
            Column("share", "percent"),
            Column("executed", "flops"),
            Column("elementwise", "count"),
            Column("moved", "bytes"),
        ),
        rows=rows,
        note=_executed(counted),
        command=command,
    )


def _executed(counted: Counted) -> str:
    """Say what is executed beyond what is useful."""
    if counted.executed == counted.useful:
        return ""
    notes = []
    functions = dict.fromkeys(row.function for row in counted.attention)
    full = [row for row in counted.attention if row.executed == row.dense > row.useful]
    if full:
        names = ", ".join(dict.fromkeys(row.function for row in full))
        notes.append(
            f"what {names} multiplies by PyTorch's own counting, all pairs; kernels that skip "
            "masked tiles do less"
        )
    elif functions:
        notes.append(f"what {', '.join(functions)} multiplies, masked pairs of a tile included")
    if counted.recomputation.executed:
        notes.append("with what is computed again for the backward pass")
    return f"Executed: {'; '.join(notes)}." if notes else ""


def by_module(counted: Counted, *, command: str, depth: int | None = None) -> Table:
    """Return the cost of every module with all that is in it; repeated layers take one line."""
    costs, attention = counted.by_module, counted.core_by_module
    core_name = _core(counted)
    shown = {
        name: (kind, int(costs[name].useful))
        for name, kind in counted.modules.items()
        if name and kind not in CONTAINERS and costs[name].useful
    }
    if depth is None:
        depth = fitting(shown, ROWS)
    rows: list[tuple[Any, ...]] = [
        ("the whole", None, counted.useful, 1.0, counted.attention_share or None)
    ]
    folds = folded((name, alike) for name, alike in shown.items() if nested(name) <= depth)
    for line, fold in tree(folds):
        one, times = int(costs[fold.names[0]].useful), len(fold.names)
        share = times * one / counted.useful
        core = int(attention[fold.names[0]].useful) / one
        rows.append((line, times if times > 1 else None, one, share, core or None))
    return Table(
        title="Cost of each module",
        columns=(
            Column("module"),
            Column("alike", "exact"),
            Column("useful, one of them", "flops"),
            Column("share, all of them", "percent"),
            Column(core_name, "percent"),
        ),
        rows=tuple(rows),
        note=(
            f"{core_name[0].upper()}{core_name[1:]}: part of the FLOPs of the module itself. "
            "Modules without products are left out."
        ),
        command=command,
    )


def unpriced(counted: Counted, command: str) -> Table:
    """Return the operations that the totals leave out."""
    found: Counter[tuple[str, str]] = Counter()
    for one in counted.unpriced:
        found[one.operation, one.module] += one.calls
    shapes = {(one.operation, one.module): one.shapes for one in counted.unpriced}
    return Table(
        title="Operations without a price",
        columns=(Column("operation"), Column("module"), Column("calls", "exact"), Column("of")),
        rows=tuple(
            (*key, calls, " ".join(str(shape) for shape in shapes[key]))
            for key, calls in found.items()
        ),
        note="Price them with @ac.price; without one the totals are lower bounds.",
        command=command,
    )


def facts(subject: Subject) -> dict[str, Any]:
    """Return all that was counted as plain data, every digit of it."""
    counted, whole = subject.counted, subject.counted.by_module
    attention, conventions = counted.core_by_module, by_convention(subject)
    return {
        "name": subject.name,
        "class": counted.name,
        "length": subject.length,
        "batch": subject.batch,
        "training": subject.training,
        **subject.totals,
        "intensity": counted.intensity,
        "attention_share": counted.attention_share,
        "kv_bytes_per_token": subject.kv_bytes_per_token,
        "at_least": counted.at_least,
        "at_most": list(counted.at_most),
        "phases": {
            name: _plain(getattr(counted, name))
            for name in ("forward", "backward", "recomputation")
        },
        "steps": [{"step": step, **_plain(cost)} for step, cost in counted.by_step.items()],
        "modules": [
            {
                "module": name,
                "class": kind,
                **_plain(whole[name]),
                "attention": int(attention[name].useful),
                "own": asdict(subject.owned[name]) if name in subject.owned else None,
            }
            for name, kind in counted.modules.items()
        ],
        "attention": [asdict(row) for row in counted.attention],
        "unpriced": [asdict(one) for one in counted.unpriced],
        "conventions": conventions,
        "sources": {name: convention(name).source for name in conventions},
    }


def _plain(cost: Cost) -> dict[str, int]:
    return {name: int(getattr(cost, name)) for name in TOTALS}
