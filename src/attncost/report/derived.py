"""The document of a derivation: steps, totals, where terms change places, memory of weights."""

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, Final

from attncost.core.formula import text as formula_text
from attncost.core.units import show
from attncost.cost.block import BlockSizes, core_cost
from attncost.cost.derivation import Attention, Derivation
from attncost.draw.grid import text as drawn
from attncost.draw.sampled import sampled
from attncost.mechanisms.interface import Priced
from attncost.mechanisms.spelling import spelling
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern
from attncost.report.against_full import against_full
from attncost.report.document import Column, Document, Section, Table
from attncost.report.kind import FORMULA_ONLY, kind

_SCHEMA: Final = "attncost.derive/1"
_FLOAT32: Final = 4
# It keeps the command below two seconds more.
_LONGEST: Final = 4096
_KINDS: Final = {
    "exact": "Exact: the softmax over the pairs that are read",
    "approximate": "Approximate: values are mixed in another way",
    FORMULA_ONLY: "Formulas only: a price, and nothing here that runs it",
}
# Characters are twice as tall as wide.
_PICTURE: Final = (16, 32)


def one_derived(
    derivation: Derivation, *, name: str, command: str, longest: int = _LONGEST
) -> Document:
    """Return the steps of one attention, and what follows from them.

    Args:
        derivation: What was derived.
        name: How it is spelled.
        command: What reproduces it.
        longest: Up to which length it is compared with full attention, kernel by kernel.
    """
    sections = [
        Section(title="Step by step", blocks=(_steps(derivation, command),)),
        Section(title="What follows", text=tuple(_sentences(derivation))),
    ]
    layer = _layer(name, derivation)
    if not isinstance(derivation.attention, Full):
        section, found = against_full(
            derivation.attention, derivation.block, longest=longest, command=command
        )
        sections.append(section)
        layer["against_full"] = found
    return Document(
        schema=_SCHEMA,
        title=f"Self-attention, {spelling(derivation.attention)}: what one layer costs, forward, "
        "one sequence",
        subtitle=_sizes(derivation.block, derivation.length)
        + "; a multiply-add is 2 FLOPs; exact counts",
        command=command,
        sections=tuple(sections),
        facts={"layers": [layer]},
    )


def all_derived(derivations: dict[str, Derivation], *, command: str) -> Document:
    """Return the totals of several attentions side by side, in a table for each kind."""
    first = next(iter(derivations.values()))
    of_kind: dict[str, dict[str, Derivation]] = {}
    for name, one in derivations.items():
        of_kind.setdefault(kind(one.attention), {})[name] = one
    sections = (
        Section(
            title=_KINDS[which],
            text=_dialled(some.values()),
            blocks=(_totals(_KINDS[which], some, command),),
        )
        for which, some in of_kind.items()
    )
    return Document(
        schema=_SCHEMA,
        title="Self-attention: what one layer costs, forward, one sequence",
        subtitle=_sizes(first.block, first.length) + "; a multiply-add is 2 FLOPs; exact counts",
        command=command,
        sections=(
            Section(
                title="Side by side",
                text=(
                    "The whole layer, projections included. It wins where it takes fewer FLOPs "
                    f"than full attention; {_compared(derivations.values())}. "
                    "`attncost derive NAME` shows the steps.",
                ),
            ),
            *sections,
        ),
        facts={"layers": [_layer(name, one) for name, one in derivations.items()]},
    )


def _compared(derivations: Iterable[Derivation]) -> str:
    limits = [one.looked_up_to for one in derivations]
    compared = f"lengths up to {max(limits):,} were compared"
    if min(limits) == max(limits):
        return compared
    return f"{compared}, up to {min(limits):,} where pairs are counted one by one"


def _dialled(derivations: Iterable[Derivation]) -> tuple[str, ...]:
    """Spell out those that have dials, as their costs depend on them."""
    found = (spelling(one.attention) for one in derivations)
    written = "; ".join(one for one in found if ":" in one or "(" in one)
    return (f"Dials, as they are priced here: {written}.",) if written else ()


def _dials(attention: Attention) -> dict[str, Any]:
    """Return every parameter, as plain data."""
    frozen: Any = attention  # a dataclass, which the interfaces do not say
    values = {field.name: getattr(frozen, field.name) for field in fields(frozen)}
    return {
        name: value if isinstance(value, int | str) else str(value)
        for name, value in values.items()
    }


def _totals(title: str, derivations: dict[str, Derivation], command: str) -> Table:
    columns = (
        Column("name"),
        Column("grows like"),
        Column("FLOPs", "exact"),
        Column("attention", "percent"),
        Column("wins from n =", "tokens"),
    )
    rows = tuple(
        (
            name,
            f"O({formula_text(one.order)})",
            one.cost.useful,
            one.core / one.cost.useful,
            one.cheaper_than_full_from,
        )
        for name, one in derivations.items()
    )
    return Table(title=title, columns=columns, rows=rows, command=command)


def picture(attention: Attention, *, length: int) -> str:
    r"""Return what a pattern reads, for a terminal, in lines that stand apart.

    Nothing for an approximation, which has no pairs that it reads or leaves out.

    >>> picture(Full(), length=2)
    '\nWhat it reads at n = 2, queries down and keys to the right\n■■\n■■\n'
    """
    if not isinstance(attention, Pattern):
        return ""
    grid = sampled(attention.allowed, length, length, most=_PICTURE)
    head = f"What it reads at n = {length:,}, queries down and keys to the right"
    return f"\n{head}\n{drawn(grid)}\n"


def _sizes(block: BlockSizes, length: int) -> str:
    return f"d = d_model = {block.d_model}, h = {block.heads} heads, n = {length:,} tokens"


def _steps(derivation: Derivation, command: str) -> Table:
    total = derivation.cost.useful
    rows: list[tuple[Any, ...]] = [
        (
            step.name,
            f"O({formula_text(step.order)})",
            step.long,
            step.count if step.matrix else None,
            step.count / total if step.matrix else None,
        )
        for step in derivation.steps
    ]
    rows.append(("total", f"O({formula_text(derivation.order)})", derivation.long, total, 1.0))
    bends = derivation.bends
    apart = (
        f"Outside matrix products: {derivation.cost.elementwise:,} elementwise operations, "
        f"counted apart.{_executed(derivation)}"
    )
    return Table(
        title="Cost of each step",
        columns=(
            Column("step"),
            Column("grows like"),
            Column("count for long n" if bends else "exact count", "formula"),
            Column("FLOPs", "exact"),
            Column("share", "percent"),
        ),
        rows=tuple(rows),
        note=apart,
        command=command,
    )


def _executed(one: Derivation) -> str:
    """Say what is multiplied in vain, where the definition says how it is computed."""
    if one.cost.executed == one.cost.useful:
        return ""
    return f" Masked pairs, chunks and padding included, it executes {one.cost.executed:,} FLOPs."


def _sentences(one: Derivation) -> Iterable[str]:
    block, n = one.block, one.length
    d, h = block.d_model, block.heads
    if isinstance(one.attention, Priced):
        how = (
            "a price alone, it is not run here"
            if kind(one.attention) == FORMULA_ONLY
            else "run here"
        )
        yield f"Source: {one.attention.source}; {how}."
    yield _heads(one)
    yield _dominates("the projections", one.outgrows_projections, one.looked_up_to)
    yield _dominates(
        "a whole block around it (projections and a feed-forward of 4·d: 12·d² weights)",
        one.outgrows_block,
        one.looked_up_to,
    )
    yield from _against_full(one)
    if isinstance(one.attention, Pattern):
        yield (
            f"Weights kept as n x n take {n * n:,} pairs a head, "
            f"{show(_FLOAT32 * n * n, 'bytes')} in float32, so "
            f"{show(_FLOAT32 * h * n * n, 'bytes')} for {h} heads; q, k and v together 3·n·d = "
            f"{3 * n * d:,} numbers, {show(_FLOAT32 * 3 * n * d, 'bytes')}."
        )


def _heads(one: Derivation) -> str:
    each = f"each of the {one.block.heads} has d/h = {one.block.head_dim} features"
    if one.heads_matter:
        return f"Heads change the total, as the h in it says: {each}."
    return (
        f"Heads do not change the total: {each}, and h · n² · d/h = n² · d. Only the elementwise "
        "operations of the softmax grow with them."
    )


def _dominates(rest: str, length: int | None, limit: int) -> str:
    if length is None:
        return f"Attention itself never costs as much as {rest}, up to n = {limit:,}."
    return f"Attention itself costs as much as {rest} from n = {length:,}."


def _against_full(one: Derivation) -> Iterable[str]:
    if isinstance(one.attention, Full):
        return
    full = core_cost(Full(), one.block, length=one.length).useful
    yield (
        f"It takes {show(one.core / full, 'percent')} of the FLOPs of full attention at "
        f"n = {one.length:,}; {_wins(one)}."
    )


def _wins(one: Derivation) -> str:
    if one.cheaper_than_full_from is None:
        return f"it is not cheaper at any length up to {one.looked_up_to:,}"
    return f"it is cheaper from n = {one.cheaper_than_full_from:,}"


def _layer(name: str, one: Derivation) -> dict[str, Any]:
    steps = [
        {
            "step": step.name,
            "flops": step.count if step.matrix else 0,
            "elementwise": 0 if step.matrix else step.count,
            "formula": formula_text(step.formula),
            "formula_for_long_n": formula_text(step.long),
            "order": formula_text(step.order),
        }
        for step in one.steps
    ]
    return {
        "name": name,
        "kind": kind(one.attention),
        "dials": _dials(one.attention),
        "d_model": one.block.d_model,
        "heads": one.block.heads,
        "length": one.length,
        "steps": steps,
        "flops": one.cost.useful,
        "executed": one.cost.executed,
        "dense": one.cost.dense,
        "elementwise": one.cost.elementwise,
        "formula": formula_text(one.total),
        "outgrows_projections_from": one.outgrows_projections,
        "outgrows_rest_of_block_from": one.outgrows_block,
        "cheaper_than_full_from": one.cheaper_than_full_from,
        "looked_up_to": one.looked_up_to,
        "weights_bytes_per_head_float32": _FLOAT32 * one.length**2,
        "qkv_numbers": 3 * one.length * one.block.d_model,
    }
