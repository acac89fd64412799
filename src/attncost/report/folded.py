"""Lists of modules in which repeated layers take one line: `layers.0-31.mlp`, 32 alike."""

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, final

CONTAINERS: Final = frozenset({"ModuleList", "ModuleDict"})  # which do nothing themselves
ROWS: Final = 20  # of modules on a screen

_STAR: Final = "*"


@final
@dataclass(frozen=True, slots=True)
class Fold:
    """Modules that differ in nothing but numbers in their names.

    Attributes:
        parts: What stands between the dots of all names together.
        names: Of each, in order.
    """

    parts: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name of all of them together."""
        return ".".join(self.parts)


def folded(modules: Iterable[tuple[str, Hashable]]) -> tuple[Fold, ...]:
    """Return modules with those that are alike together, in the order of the first of each.

    Args:
        modules: Names, and what must be equal of those that are alike.

    >>> [fold.name for fold in folded([("mlp.0", 3), ("mlp.1", 3), ("mlp.2", 5), ("out", 3)])]
    ['mlp.0-1', 'mlp.2', 'out']
    """
    groups: dict[Hashable, list[str]] = {}
    for name, alike in modules:
        starred = ".".join(_STAR if part.isdecimal() else part for part in name.split("."))
        groups.setdefault((starred, alike), []).append(name)
    return tuple(Fold(_together(names), tuple(names)) for names in groups.values())


def _together(names: Sequence[str]) -> tuple[str, ...]:
    columns = zip(*(name.split(".") for name in names), strict=True)
    return tuple(_numbers(list(dict.fromkeys(column))) for column in columns)


def _numbers(parts: list[str]) -> str:
    """Write what stands in one place of all names.

    >>> _numbers(["3"]), _numbers(["0", "1", "2"]), _numbers(["0", "2", "4", "6"])
    ('3', '0-2', '0,2..6')
    >>> _numbers(["0", "1", "5"]), _numbers([str(n * n) for n in range(9)])
    ('0,1,5', '0,1,4..64')
    """
    if len(parts) == 1 or not all(re.fullmatch(r"\d+", part) for part in parts):
        return parts[0]
    numbers = sorted(map(int, parts))
    steps = {after - before for before, after in pairwise(numbers)}
    if steps == {1}:
        return f"{numbers[0]}-{numbers[-1]}"
    if len(numbers) <= 3:
        return ",".join(map(str, numbers))
    shown = numbers[: 2 if len(steps) == 1 else 3]
    return f"{','.join(map(str, shown))}..{numbers[-1]}"


def nested(name: str) -> int:
    """Return in how many modules one lies; the number of a layer belongs to its list.

    >>> nested("layers.3.mlp")
    2
    """
    return sum(not part.isdecimal() for part in name.split("."))


def fitting(shown: Mapping[str, Hashable], most: int) -> int:
    """Return the greatest depth whose folded lines are few enough; at least 1.

    Args:
        shown: Names, and what must be equal of those that are alike.
        most: Lines.
    """
    for depth in range(max(map(nested, shown), default=1), 1, -1):
        if len(folded(pair for pair in shown.items() if nested(pair[0]) <= depth)) <= most:
            return depth
    return 1


def tree(folds: Iterable[Fold]) -> list[tuple[str, Fold]]:
    """Return folds with what each line of a tree says: its name, without that of a line above.

    >>> found = folded([("a", 1), ("a.0", 2), ("a.0.b", 3), ("c.d", 4)])
    >>> [name for name, _ in tree(found)]
    ['a', '  0', '    b', 'c.d']
    """
    lines, above = [], list[Fold]()
    for fold in folds:
        while above and not _lies_in(fold, above[-1]):
            above.pop()
        rest = fold.parts[len(above[-1].parts) if above else 0 :]
        lines.append(("  " * len(above) + ".".join(rest), fold))
        above.append(fold)
    return lines


def _lies_in(fold: Fold, other: Fold) -> bool:
    """Say whether each module of a fold lies in one of another."""
    holders = tuple(f"{name}." for name in other.names)
    return all(name.startswith(holders) for name in fold.names)
