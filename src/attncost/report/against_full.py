"""Where a pattern or an approximation is cheaper than full attention, by every measure."""

from dataclasses import asdict
from typing import Any, Final

from attncost.cost.block import BlockSizes
from attncost.cost.crossovers import Contender, Crossing, Measure, crossovers
from attncost.cost.derivation import Attention, searchable
from attncost.kernels.choose import best
from attncost.kernels.interface import Kernel
from attncost.kernels.sdpa import Sdpa
from attncost.patterns.full import Full
from attncost.patterns.interface import Pattern
from attncost.report.document import Column, Section, Table

_TITLE: Final = "Where it wins over full attention"
# Spans of keys in plans for one measure: half a second.
_EFFORT: Final = 40_000
_SHOWN: Final[dict[Measure, str]] = {
    "useful": "FLOPs, useful",
    "executed": "FLOPs, executed",
    "bytes": "bytes moved",
    "memory": "memory at once",
}


def against_full(
    attention: Attention, block: BlockSizes, *, longest: int, command: str
) -> tuple[Section, dict[str, Any]]:
    """Return the section that says where an attention wins, and the same as plain data.

    A pattern is computed by what `attention` would run on long sequences, full attention by
    PyTorch's fused call.
    """
    longest = searchable(attention, longest=longest)
    kernel = best(attention, block.dims(longest)) if isinstance(attention, Pattern) else None
    mine, full = Contender(attention, kernel), Contender(Full(), Sdpa())
    found = crossovers(mine, full, block, limit=longest, effort=_EFFORT)
    table = Table(
        title=_TITLE,
        columns=(
            Column("compared by"),
            Column("first at n =", "tokens"),
            Column("for good from n =", "tokens"),
            Column("changes", "exact"),
            Column("looked up to", "tokens"),
        ),
        rows=tuple(_row(_SHOWN[measure], one) for measure, one in found.items()),
        note=_note(kernel, longest),
        command=command,
    )
    facts: dict[str, Any] = {
        measure: None if one is None else asdict(one) for measure, one in found.items()
    }
    facts["kernel"] = None if kernel is None else _name(kernel)
    facts["compared_with"] = f"full, by {_name(full.kernel)}"
    return Section(title=_TITLE, blocks=(table,)), facts


def _row(shown: str, one: Crossing | None) -> tuple[Any, ...]:
    if one is None:
        return (shown, "no formula", None, None, None)
    first = "never" if one.first is None else one.first
    lasting = "never" if one.lasting is None else one.lasting
    return (shown, first, lasting, one.times, one.longest)


def _note(kernel: Kernel | None, longest: int) -> str:
    if kernel is None:
        how = "What is executed and moved follows from its definition"
    else:
        how = (
            f"Executed and moved is what `{_name(kernel)}` does, which `attention` runs at "
            f"n = {longest:,} on a CPU"
        )
    return (
        f"Between the projections, at every length from 1 on. {how}; full attention is PyTorch's "
        "fused call, which moves each tensor once. Changes: how often it begins or ceases to win, "
        "as kernels work in tiles. Where plans take long, short lengths alone were looked at. Only "
        "naive and fused attention have a formula for memory."
    )


def _name(one: Kernel | None) -> str:
    return type(one).__module__.rpartition(".")[2]
