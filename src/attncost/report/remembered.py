"""What one call holds in memory at its worst moment: its parts, and what each module keeps."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, final

from attncost.core.units import show
from attncost.cost.memory.footprint import PARTS, Footprint
from attncost.report.document import Chapter, Column, Finding, Section, Table
from attncost.report.folded import CONTAINERS, ROWS, fitting, folded, nested, tree

WHEN: Final = {
    "forward": "in the forward pass",
    "backward": "in the backward pass",
    "step": "in the step of the optimizer",
}
_OUTSIDE: Final = (
    "The backward pass begins at the loss, if the output has one, or else at all of the output: "
    "a loss outside of the model takes more."
)
_ENDS: Final = "Held when the forward pass ends, which need not be the worst moment."
_KEPT: Final = (
    Column("module"),
    Column("alike", "exact"),
    Column("kept, one of them", "bytes"),
    Column("share, all of them", "percent"),
)


@final
@dataclass(frozen=True, slots=True)
class Held:
    """What a model holds in memory in some work.

    Attributes:
        work: What it does, such as `one forward pass`.
        found: The memory.
        command: What repeats it.
    """

    work: str
    found: Footprint
    command: str


def memory_chapter(held: Sequence[Held], *, name: str, length: int | None) -> Chapter:
    """Return the memory of a model by part, in each work.

    Args:
        held: What it holds.
        name: What people call it.
        length: Tokens of the one sequence; None if the inputs have sizes of their own.
    """
    sizes = "its own inputs" if length is None else f"one sequence of {length:,} tokens"
    text = [f"The same module ({sizes}) with every block of memory seen, and no numbers in it."]
    for one in held:
        peak = f"{least(one.found)}{show(one.found.peak, 'bytes')}"
        text.append(f"{one.work[0].upper()}{one.work[1:]}: {peak}. {' '.join(moment(one.found))}")
    tables = (
        by_part(one.found, title=f"Memory by part: {one.work}", command=one.command) for one in held
    )
    section = Section(title=f"What {name} holds in memory", text=tuple(text), blocks=tuple(tables))
    return Chapter((), section)


def memory_finding(found: Footprint, *, command: str) -> Finding:
    """Return the peak in a line."""
    peak = f"{least(found)}{show(found.peak, 'bytes')}"
    return Finding(
        key="peak",
        text=f"{peak} of memory at the peak, {WHEN[found.phase]}",
        values={"peak": found.peak, "exact": found.exact},
        command=command,
    )


def memory_sections(
    found: Footprint,
    modules: Mapping[str, str],
    *,
    training: bool,
    depth: int | None,
    command: str,
) -> tuple[Section, ...]:
    """Return where the memory of a call goes.

    Args:
        found: The memory.
        modules: The class of every module.
        training: Whether a backward pass was run, too.
        depth: Modules in modules to show; as many as fit a screen, if left out.
        command: What repeats it.
    """
    text = (*moment(found), _OUTSIDE) if training else moment(found)
    peak = Section(title="Memory", text=text, blocks=(by_part(found, command=command),))
    if not any(found.kept.values()):
        return (peak,)
    why = "keeps for the backward pass" if training else "leaves behind: its output, a cache"
    title, rows = f"What the forward pass {why}", _kept(found, modules, depth)
    kept = Table(title=title, columns=_KEPT, rows=rows, note=_ENDS, command=command)
    return peak, Section(title=title, blocks=(kept,))


def memory_facts(found: Footprint) -> dict[str, Any]:
    """Return the same as plain data, every digit of it."""
    return {**asdict(found), "peak": found.peak, "exact": found.exact}


def moment(found: Footprint) -> tuple[str, ...]:
    """Say when and where the peak is, and whether it is exact."""
    place = f", in {found.module}" if found.module else ""
    when = f"Most is held {WHEN[found.phase]}{place} ({found.operation})."
    return when, known(found)


def known(found: Footprint) -> str:
    """Say whether a peak is exact, and why not."""
    if found.exact:
        return f"Exact: what PyTorch's allocator has given out then, on {_device(found)}."
    return f"At least so much, on {_device(found)}: {' '.join(found.at_least)}"


def least(found: Footprint) -> str:
    """Return what comes before a number that is a lower bound."""
    return "" if found.exact else "at least "


def by_part(found: Footprint, *, title: str = "Memory by part", command: str) -> Table:
    """Return the parts of the peak.

    Args:
        found: The memory.
        title: What to call the table.
        command: What repeats it.
    """
    rows: list[tuple[Any, ...]] = [
        (part, found.by_part[part], found.by_part[part] / found.peak)
        for part in PARTS
        if found.by_part[part]
    ]
    return Table(
        title=title,
        columns=(Column("part"), Column("memory", "bytes"), Column("share", "percent")),
        rows=(*rows, ("together", found.peak, 1.0)),
        command=command,
    )


def _kept(
    found: Footprint, modules: Mapping[str, str], depth: int | None
) -> tuple[tuple[Any, ...], ...]:
    """Return what each module keeps, with all that is in it; those alike take one line."""
    whole = sum(found.kept.values())
    within = _with_all_within(found.kept)
    shown = {
        name: (kind, within[name])
        for name, kind in modules.items()
        if name and kind not in CONTAINERS and within.get(name)
    }
    deepest = fitting(shown, ROWS) if depth is None else depth
    rows: list[tuple[Any, ...]] = [("the whole", None, whole, 1.0)]
    folds = folded(pair for pair in shown.items() if nested(pair[0]) <= deepest)
    for line, fold in tree(folds):
        one, times = within[fold.names[0]], len(fold.names)
        alike = times if times > 1 else None
        rows.append((line, alike, one, times * one / whole))
    return tuple(rows)


def _with_all_within(kept: Mapping[str, int]) -> dict[str, int]:
    """Return what each module keeps together with the modules in it."""
    found: dict[str, int] = {}
    for name, size in kept.items():
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            holder = ".".join(parts[:end])
            found[holder] = found.get(holder, 0) + size
    return found


def _device(found: Footprint) -> str:
    return "a CPU" if found.device == "cpu" else found.device
