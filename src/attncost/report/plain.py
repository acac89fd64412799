"""A document as plain data for JSON: every digit, no rounding, and the name of its schema."""

import json
import math
from dataclasses import asdict
from typing import Any

from attncost.core.formula import text as formula_text
from attncost.report.document import Document, Figure, Table


def plain(document: Document) -> dict[str, Any]:
    """Return the document as dictionaries, lists, strings and numbers."""
    blocks = [block for section in document.sections for block in section.blocks]
    tables = [block.table if isinstance(block, Figure) else block for block in blocks]
    links = [asdict(link) for section in document.sections for link in section.links]
    return {
        "schema": document.schema,
        "title": document.title,
        "command": document.command,
        **document.facts,
        "findings": [asdict(finding) for finding in document.findings],
        "tables": [_table(table) for table in tables],
        **({"links": links} if links else {}),
    }


def dumped(document: Document) -> str:
    """Return the document as JSON; a number that JSON cannot hold becomes null."""
    return json.dumps(_finite(plain(document)), indent=2, ensure_ascii=False)


def _table(table: Table) -> dict[str, Any]:
    return {
        "title": table.title,
        "columns": [asdict(column) for column in table.columns],
        "rows": [list(row) for row in table.rows],
        "command": table.command,
    }


def _finite(value: Any) -> Any:  # noqa: ANN401 -- whatever JSON holds
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, int | float | str | None) else formula_text(value)
