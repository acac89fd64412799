"""`cost.lock`: what models cost, exactly, as a file to commit and to compare with.

One section a model, one module a line, so that a change of a model is a change of few lines. People
edit and merge it: what is read is checked, key by key.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, final

from attncost.core.errors import ShapeError
from attncost.core.files import put, words
from attncost.cost.difference import FIELDS, Own
from attncost.cost.lock import Locked

SCHEMA: Final = "attncost.lock/1"
# Bytes of a lock; a module takes about 100 of them.
_LONGEST: Final = 1 << 26
_HEAD: Final = """\
# What models cost, exactly. Compare: attncost check MODEL. Write anew: attncost check MODEL --write
"""


@final
class _Damaged(Exception):  # noqa: N818 -- names what is damaged
    """A key of a lock, and what is wrong with it."""


def read_lock(path: Path) -> dict[str, Locked]:
    """Read a lock, by the names of its models.

    Raises:
        StorageError: If there is no such file.
        ShapeError: If it is no lock of this kind, or somebody damaged it.
    """
    text = words(path, most=_LONGEST, give="name a file that `attncost check --write` wrote")
    try:
        found = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ShapeError(f"{path} is not TOML: {error}.") from error
    if found.pop("schema", None) != SCHEMA:
        raise ShapeError(f"{path} must begin with schema = {SCHEMA!r}: write it anew with --write.")
    try:
        models = _table(found.get("models", {}), "models")
        return {name: _read(one, f"models.{_key(name)}") for name, one in models.items()}
    except _Damaged as error:
        raise ShapeError(
            f"{path} is damaged: {error}. Mend that line, or take the file away and write it anew "
            "with --write."
        ) from error


def _read(section: object, at: str) -> Locked:
    parts = _table(section, at, known=_PARTS, needed=_PARTS)
    read = {name: read(parts[name], f"{at}.{name}") for name, read in _PARTS.items()}
    return Locked(**read)


def _setting(found: object, at: str) -> dict[str, Any]:
    known = {"length": _count, "batch": _count, "training": _truth}
    table = _table(found, at, known=known, needed=["training"])
    return {name: known[name](value, f"{at}.{name}") for name, value in table.items()}


def _totals(found: object, at: str) -> dict[str, int]:
    _table(found, at, known=[*FIELDS, "kv_bytes_per_token"], needed=FIELDS)
    return _counts(found, at)


def _modules(found: object, at: str) -> dict[str, Own]:
    return {n: _own(one, f"{at}.{_key(n)}") for n, one in _table(found, at).items()}


def _own(found: object, at: str) -> Own:
    names = ["kind", *FIELDS]
    table = dict(_table(found, at, known=names, needed=names))
    kind = _word(table.pop("kind"), f"{at}.kind")
    return Own(kind=kind, **_counts(table, at))


def _counts(found: object, at: str) -> dict[str, int]:
    return {name: _count(one, f"{at}.{_key(name)}") for name, one in _table(found, at).items()}


def _words(found: object, at: str) -> dict[str, str]:
    return {name: _word(one, f"{at}.{_key(name)}") for name, one in _table(found, at).items()}


def _reasons(found: object, at: str) -> tuple[str, ...]:
    if not isinstance(found, list):
        raise _Damaged(f"{at} must be a list, got {found!r}")
    return tuple(_word(one, at) for one in found)


def _table(
    found: object,
    at: str,
    *,
    known: Iterable[str] | None = None,
    needed: Iterable[str] = (),
) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise _Damaged(f"{at} must be a table, got {found!r}")
    for name in needed:
        if name not in found:
            raise _Damaged(f"{at}.{name} is missing")
    for name in () if known is None else sorted(found.keys() - set(known)):
        raise _Damaged(f"{at}.{_key(name)} is unknown")
    return found


def _count(found: object, at: str) -> int:
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise _Damaged(f"{at} must be a whole number from 0, got {found!r}")
    return found


def _truth(found: object, at: str) -> bool:
    if not isinstance(found, bool):
        raise _Damaged(f"{at} must be true or false, got {found!r}")
    return found


def _word(found: object, at: str) -> str:
    if not isinstance(found, str):
        raise _Damaged(f"{at} must be text, got {found!r}")
    return found


_PARTS: Final[dict[str, Callable[[object, str], Any]]] = {
    "at_most": _reasons,
    "setting": _setting,
    "versions": _words,
    "settings": _table,
    "totals": _totals,
    "unpriced": _counts,
    "modules": _modules,
}


def write_lock(path: Path, models: Mapping[str, Locked]) -> None:
    """Write a lock, whole or not at all.

    Raises:
        StorageError: If it cannot be written.
    """
    put(path, _written(models).encode(), give="name another file with --lock")


def _written(models: Mapping[str, Locked]) -> str:
    sections = [_section(name, models[name]) for name in sorted(models)]
    return "\n".join([_HEAD + f"schema = {json.dumps(SCHEMA)}\n", *sections])


def _section(name: str, model: Locked) -> str:
    key = f"models.{_key(name)}"
    plain: dict[str, Mapping[str, Any]] = {
        "setting": model.setting,
        "versions": model.versions,
        "settings": model.settings,
        "totals": model.totals,
        "unpriced": model.unpriced,
        "modules": {n: asdict(own) for n, own in model.modules.items()},
    }
    lines = [f"[{key}]", f"at_most = {_value(model.at_most)}", ""]
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
