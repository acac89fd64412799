"""Where a document was measured, as pairs of a name and what is known."""

from collections.abc import Iterator, Mapping
from typing import Any

from attncost.report.document import Document


def environment(document: Document) -> tuple[tuple[str, str], ...]:
    """Return what is known of it, inner facts under both names; nothing if nothing was measured."""
    return tuple(_flat(document.facts.get("environment", {})))


def _flat(facts: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for key, value in facts.items():
        name = f"{before}{key}".replace("_", " ")
        if isinstance(value, dict):
            yield from _flat(value, f"{name} ")
        elif isinstance(value, list | tuple):
            yield from _flat({name: ", ".join(map(str, value))})
        elif value not in (None, ""):
            yield name, str(value)
