"""What is kept in a `cost.lock` of the count of a model, and what changed since.

FLOPs by definition (`dense`, `useful`), parameters, bytes of keys and values, and what has no price
are the same everywhere. What is `executed`, `elementwise` operations and bytes follow the
libraries: they are compared where those are of the versions that wrote the file.

A count does not see everything: attention that is written by hand shows no window. So the reasons
why `useful` is only an upper bound are kept too, and all settings of a model that has some.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, final

from attncost.cost.counting.counted import Counted
from attncost.cost.difference import FIELDS, Change, Owned, difference

ALWAYS: Final = ("parameters", "dense", "useful")
ABSENT: Final = "absent"


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Locked:
    """What is kept of the count of one model.

    Attributes:
        setting: What was counted: length, batch, training; what it has in other settings is no
            change.
        totals: Of the whole, by name.
        modules: What every module costs by itself.
        unpriced: Calls of operations without a formula, by module and operation.
        at_most: Why `useful` is only an upper bound, in order of the alphabet.
        settings: Those of a `config.json` that may decide what attention reads.
        versions: Of this package and the libraries that it was counted with.
    """

    setting: dict[str, int | bool]
    totals: dict[str, int]
    modules: Owned
    unpriced: dict[str, int] = field(default_factory=dict)
    at_most: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a comparison found.

    Attributes:
        changes: Modules that differ, dearest first.
        totals: Totals that differ, by name: before, after.
        unpriced: Operations without a price that differ, by name: calls before, after.
        at_most: Why `useful` is only an upper bound, before and after, if that differs.
        settings: Those that differ, by name: before, after.
        left_out: Why some counts were not compared; None if all were.
    """

    changes: tuple[Change, ...]
    totals: dict[str, tuple[int, int]]
    unpriced: dict[str, tuple[int, int]]
    at_most: tuple[tuple[str, ...], tuple[str, ...]] | None
    settings: dict[str, tuple[Any, Any]]
    left_out: str | None

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        counts = self.changes or self.totals or self.unpriced
        return not (counts or self.at_most or self.settings)


def locked(
    counted: Counted,
    modules: Owned,
    *,
    setting: Mapping[str, int | bool],
    versions: Mapping[str, str],
    kv_bytes_per_token: int | None = None,
) -> Locked:
    """Return what to keep of a count; settings are for the caller to add.

    Args:
        counted: The count.
        modules: What every module costs by itself.
        setting: Length, batch, training.
        versions: Of the libraries that counted.
        kv_bytes_per_token: Of keys and values in a cache, if known.
    """
    totals = {"parameters": counted.parameters}
    totals |= {name: int(getattr(counted, name)) for name in FIELDS[1:]}
    if kv_bytes_per_token is not None:
        totals["kv_bytes_per_token"] = kv_bytes_per_token
    unpriced: dict[str, int] = {}
    for one in counted.unpriced:
        name = f"{one.operation} in {one.module or 'the whole'}"
        unpriced[name] = unpriced.get(name, 0) + one.calls
    return Locked(
        setting=dict(setting),
        totals=totals,
        modules=modules,
        unpriced=unpriced,
        at_most=tuple(sorted(counted.at_most)),
        versions=dict(versions),
    )


def compare(before: Locked, after: Locked) -> Verdict:
    """Return what changed since a model was locked."""
    same = before.versions == after.versions
    fields = FIELDS if same else ALWAYS
    changes = difference(before.modules, after.modules, fields=fields)
    totals = {**dict.fromkeys(before.totals), **dict.fromkeys(after.totals)}
    compared = [n for n in totals if same or n in ALWAYS or n not in FIELDS]
    return Verdict(
        changes=changes,
        totals=_differ(before.totals, after.totals, compared),
        unpriced=_differ(before.unpriced, after.unpriced, {**before.unpriced, **after.unpriced}),
        at_most=_bounds(before, after, same=same),
        settings=_set(before.settings, after.settings, same=same),
        left_out=None if same else _left_out(before.versions, after.versions),
    )


def _differ(
    before: Mapping[str, int], after: Mapping[str, int], names: Iterable[str]
) -> dict[str, tuple[int, int]]:
    pairs = {name: (before.get(name, 0), after.get(name, 0)) for name in names}
    return {name: (old, new) for name, (old, new) in pairs.items() if old != new}


def _bounds(
    before: Locked, after: Locked, *, same: bool
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Compare the reasons; with other versions, which may word them anew, whether there are any."""
    pair = before.at_most, after.at_most
    alike = pair[0] == pair[1] if same else bool(pair[0]) is bool(pair[1])
    return None if alike else pair


def _set(
    before: Mapping[str, Any], after: Mapping[str, Any], *, same: bool
) -> dict[str, tuple[Any, Any]]:
    """Compare settings; another version may know more of them, which changes no model."""
    names = [n for n in {**before, **after} if same or (n in before and n in after)]
    pairs = {name: (before.get(name, ABSENT), after.get(name, ABSENT)) for name in names}
    # What is true is equal to 1, and another setting.
    return {n: pair for n, pair in pairs.items() if repr(pair[0]) != repr(pair[1])}


def _left_out(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    names = sorted({**before, **after})
    apart = [n for n in names if before.get(n) != after.get(n)]
    words = ", ".join(f"{n} {before.get(n, '-')}, here {after.get(n, '-')}" for n in apart)
    return f"executed, elementwise and bytes were not compared: locked with {words}."
