"""`cost.lock`: what models cost, exactly, as a file to commit and to compare with.

One section a model, one module a line, so that a change of a model is a change of few lines. FLOPs
by definition (`dense`, `useful`), parameters, bytes of keys and values, and what has no price are
the same everywhere. What is `executed`, `elementwise` operations and bytes follow the libraries:
they are compared where those are of the versions that wrote the file.
"""

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, final

from attncost.core.errors import ShapeError, StorageError
from attncost.cost.counting.counted import Counted
from attncost.cost.difference import FIELDS, Change, Own, Owned, difference

SCHEMA: Final = "attncost.lock/1"
ALWAYS: Final = ("parameters", "dense", "useful")
_HEAD: Final = """\
# What models cost, exactly. Compare: attncost check MODEL. Write anew: attncost check MODEL --write
"""


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
        versions: Of this package and the libraries that it was counted with.
    """

    setting: dict[str, int | bool]
    totals: dict[str, int]
    modules: Owned
    unpriced: dict[str, int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """What a comparison found.

    Attributes:
        changes: Modules that differ, dearest first.
        totals: Totals that differ, by name: before, after.
        unpriced: Operations without a price that differ, by name: calls before, after.
        left_out: Why some counts were not compared; None if all were.
    """

    changes: tuple[Change, ...]
    totals: dict[str, tuple[int, int]]
    unpriced: dict[str, tuple[int, int]]
    left_out: str | None

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.changes or self.totals or self.unpriced)


def locked(
    counted: Counted,
    modules: Owned,
    *,
    setting: Mapping[str, int | bool],
    versions: Mapping[str, str],
    kv_bytes_per_token: int | None = None,
) -> Locked:
    """Return what to keep of a count.

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
        left_out=None if same else _left_out(before.versions, after.versions),
    )


def _differ(
    before: Mapping[str, int], after: Mapping[str, int], names: Iterable[str]
) -> dict[str, tuple[int, int]]:
    pairs = {name: (before.get(name, 0), after.get(name, 0)) for name in names}
    return {name: (old, new) for name, (old, new) in pairs.items() if old != new}


def _left_out(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    names = sorted({**before, **after})
    apart = [n for n in names if before.get(n) != after.get(n)]
    words = ", ".join(f"{n} {before.get(n, '-')}, here {after.get(n, '-')}" for n in apart)
    return f"executed, elementwise and bytes were not compared: locked with {words}."


def read_lock(path: Path) -> dict[str, Locked]:
    """Read a lock, by the names of its models.

    Raises:
        StorageError: If there is no such file.
        ShapeError: If it is no lock of this kind.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StorageError(f"{path} cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise ShapeError(f"{path} is not TOML: {error}.") from error
    if found.pop("schema", None) != SCHEMA:
        raise ShapeError(f"{path} must begin with schema = {SCHEMA!r}: write it anew with --write.")
    try:
        return {name: _read(section) for name, section in found.get("models", {}).items()}
    except (TypeError, KeyError, AttributeError) as error:
        raise ShapeError(f"{path} is damaged ({error}): write it anew with --write.") from error


def _read(section: Any) -> Locked:  # noqa: ANN401 -- whatever TOML holds
    modules = {name: Own(**own) for name, own in section.pop("modules").items()}
    return Locked(modules=modules, **section)


def write_lock(path: Path, models: Mapping[str, Locked]) -> None:
    """Write a lock, whole or not at all.

    Raises:
        StorageError: If it cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(_written(models), encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise StorageError(f"{path} cannot be written ({error.strerror}).") from error


def _written(models: Mapping[str, Locked]) -> str:
    sections = [_section(name, models[name]) for name in sorted(models)]
    return "\n".join([_HEAD + f"schema = {json.dumps(SCHEMA)}\n", *sections])


def _section(name: str, model: Locked) -> str:
    key = f"models.{_key(name)}"
    plain: dict[str, Mapping[str, Any]] = {
        "setting": model.setting,
        "versions": model.versions,
        "totals": model.totals,
        "unpriced": model.unpriced,
        "modules": {n: asdict(own) for n, own in model.modules.items()},
    }
    lines = []
    for part, values in plain.items():
        lines += [f"[{key}.{part}]"]
        ordered = sorted(values, key=_naturally) if part in ("modules", "unpriced") else values
        lines += [f"{_key(one)} = {_value(values[one])}" for one in ordered]
        lines.append("")
    return "\n".join(lines)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)


def _value(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def _naturally(name: str) -> list[tuple[int, str]]:
    """Sort layers.2 before layers.10."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]
