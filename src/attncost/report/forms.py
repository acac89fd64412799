"""One record in four forms: a page, Markdown, JSON, and lines of text for a file.

In each of them every finding and every table has the command that reproduces it. The form is
chosen by how the name of a file ends.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from attncost.core.errors import ShapeError
from attncost.report.document import Document, Figure, Finding, Section, Table
from attncost.report.environment import environment
from attncost.report.html import html
from attncost.report.markdown import markdown
from attncost.report.plain import dumped
from attncost.report.text import text

_WIDTH: Final = 100


def form_of(path: Path) -> Callable[[Document], str]:
    """Return what renders a document for a file.

    Raises:
        ShapeError: If its name ends in another way.
    """
    forms = {".html": html, ".md": _whole_markdown, ".json": dumped, ".txt": _whole_text}
    if path.suffix.lower() not in forms:
        *first, last = forms
        raise ShapeError(
            f"{path.name or path} must end with {', '.join(first)} or {last}, which says the form: "
            f"choose another with -o, such as {path.stem or 'report'}.html."
        )
    return forms[path.suffix.lower()]


def _whole_markdown(document: Document) -> str:
    return markdown(_with_environment(document)) + "\n"


def _whole_text(document: Document) -> str:
    """Return lines, with a command under each finding and table."""
    told = replace(
        _with_environment(document),
        subtitle="\n".join(filter(None, (document.subtitle, _typed(document.command)))),
        findings=tuple(map(_told, document.findings)),
    )
    sections = tuple(map(_with_commands, told.sections))
    return text(replace(told, sections=sections), width=_WIDTH) + "\n"


def _with_environment(document: Document) -> Document:
    lines = [f"{name}: {value}" for name, value in environment(document)]
    if contains := document.facts.get("contains"):
        lines.append(str(contains))
    if not lines:
        return document
    last = Section(title="Where this was measured", text=tuple(lines))
    return replace(document, sections=(*document.sections, last))


def _told(finding: Finding) -> Finding:
    return replace(finding, text="\n".join(filter(None, (finding.text, _typed(finding.command)))))


def _with_commands(section: Section) -> Section:
    return replace(section, blocks=tuple(map(_noted, section.blocks)))


def _noted(block: Table | Figure) -> Table:
    table = block.table if isinstance(block, Figure) else block
    return replace(table, note="\n".join(filter(None, (table.note, _typed(table.command)))))


def _typed(command: str) -> str:
    return f"$ {command}" if command else ""
