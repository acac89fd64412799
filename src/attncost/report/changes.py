"""The table of modules that differ: repeated layers and neighbours that are alike take a line."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from attncost.core.units import show
from attncost.cost.difference import FIELDS, Change, Own, topmost
from attncost.report.document import Column, Section, Table
from attncost.report.folded import Fold, folded

_MOST: Final = 24  # lines of changes
_UNITS: Final = {
    "useful": "flops",
    "dense": "flops",
    "executed": "flops",
    "elementwise": "count",
    "bytes": "bytes",
    "parameters": "exact",
    "kv_bytes_per_token": "exact",
}
# What is said of a change first, if it differs.
_TOLD: Final = ("useful", "dense", "parameters", "executed", "elementwise", "bytes")
_ABSENT: Final = "absent"
_PAIR: Final = " -> "


@final
@dataclass(frozen=True, slots=True)
class _Line:
    """What one side costs, and the other; how many modules lie in it."""

    before: Own | None = None
    after: Own | None = None
    modules: int = 0

    def __add__(self, change: Change) -> "_Line":
        return _Line(
            _sum(self.before, change.before), _sum(self.after, change.after), self.modules + 1
        )


def changed(
    changes: Sequence[Change],
    sides: tuple[Iterable[str], Iterable[str]],
    titles: tuple[str, str],
    *,
    command: str,
) -> Section:
    """Return modules that differ, dearest first.

    Args:
        changes: The modules.
        sides: Names of all modules of either side, so that what is new as a whole is named so.
        titles: What the sides are called.
        command: What compares them.
    """
    if not changes:
        return Section(title="What differs", text=("No module.",))
    lines: dict[str, _Line] = {}
    for change in changes:
        name = change.module if change.other is None else change.module + _PAIR + change.other
        if change.before is None or change.after is None:
            name = topmost(change.module, sides[change.before is not None])
        lines[name] = lines.get(name, _Line()) + change
    groups: dict[Any, list[Fold]] = {}
    for fold in folded(lines.items()):
        inside = fold.name if _PAIR in fold.name else fold.parts[:-1]
        groups.setdefault((inside, lines[fold.names[0]]), []).append(fold)
    rows = [row for (_, line), folds in groups.items() for row in _rows(folds, line)]
    more = f"{len(rows) - _MOST} lines more; --json has all of them. " * (len(rows) > _MOST)
    table = Table(
        title="What differs",
        columns=(
            Column("module"),
            Column("of each"),
            *(Column(title) for title in titles),
            Column("ratio", "times"),
        ),
        rows=tuple(rows[:_MOST]),
        note=f"{more}Each module without those in it, but what is {_ABSENT} on one side.",
        command=command,
    )
    return Section(title="What differs", blocks=(table,))


def shown(value: int | None, name: str) -> str:
    """Write a total; a line for None."""
    return "-" if value is None else show(value, _UNITS[name])


def ratio(before: int | None, after: int | None) -> float | None:
    """Return how many times as much the second is, if both are something."""
    return after / before if before and after else None


def _sum(one: Own | None, other: Own | None) -> Own | None:
    if one is None or other is None:
        return one or other
    return Own(kind="", **{f: getattr(one, f) + getattr(other, f) for f in FIELDS})


def _rows(folds: Sequence[Fold], line: _Line) -> Iterable[tuple[Any, ...]]:
    before, after = line.before, line.after
    nothing = Own(kind="")
    name = _named(folds, line.modules)
    for told in _told(before or nothing, after or nothing):
        old, new = (getattr(own, told) if own else None for own in (before, after))
        cells = (_ABSENT if one is None else shown(one, told) for one in (old, new))
        yield (name, told, *cells, ratio(old, new))
        name = ""


def _named(folds: Sequence[Fold], modules: int) -> str:
    """Name modules by what they are and what they lie in, in words that a line can break at."""
    alike = sum(len(fold.names) for fold in folds)
    name = _PAIR.join(_outwards(one) for one in folds[0].name.split(_PAIR))
    others = "".join(f"{fold.parts[-1]}, " for fold in folds[1:])
    notes = [f"{modules} modules"] * (modules > 1) + [f"{alike} alike"] * (alike > 1)
    return ", ".join([others + (name or "the whole"), *notes])


def _outwards(name: str) -> str:
    """Name a module from the inside.

    >>> _outwards("model.layers.0-31.mlp.up_proj")
    'up_proj in mlp in layers.0-31 in model'
    """
    return " in ".join(reversed(re.split(r"\.(?!\d)", name)))


def _told(before: Own, after: Own) -> list[str]:
    """Return what to say of a change: the first that differs, and parameters."""
    differ = [f for f in _TOLD if getattr(before, f) != getattr(after, f)]
    return list(dict.fromkeys([*differ[:1], *(f for f in differ if f == "parameters")]))
