"""A document as Markdown, for an issue, a notebook or a pull request."""

from attncost.report.cells import is_number, written
from attncost.report.document import Document, Figure, Table


def markdown(document: Document) -> str:
    """Render a document as GitHub-flavoured Markdown; a figure is shown as its table."""
    lines = [f"# {_safe(document.title)}", ""]
    if document.subtitle:
        lines += [_safe(document.subtitle), ""]
    if document.findings:
        lines += [*(f"- {_safe(finding.text)}" for finding in document.findings), ""]
    for section in document.sections:
        lines += [f"## {_safe(section.title)}", ""]
        for sentence in section.text:
            lines += [_safe(sentence), ""]
        for link in section.links:
            lines += [f"[{_safe(link.text)}]({link.address})", ""]
        for block in section.blocks:
            lines += [*_table(block.table if isinstance(block, Figure) else block), ""]
    if document.command:
        lines += [f"Made with `{document.command}`."]
    return "\n".join(lines).rstrip()


def _table(table: Table) -> list[str]:
    def row(cells: list[str]) -> str:
        return f"| {' | '.join(cells)} |"

    rows = [
        row([_safe(written(*pair)) for pair in zip(cells, table.columns, strict=True)])
        for cells in table.rows
    ]
    rule = row(["--:" if is_number(column) else ":--" for column in table.columns])
    head = row([_safe(column.title) for column in table.columns])
    note = ["", _safe(table.note)] if table.note else []
    return [f"**{_safe(table.title)}**", "", head, rule, *rows, *note]


def _safe(text: str) -> str:
    """Keep what people typed from becoming markup."""
    for character in "\\`*_|<>[]":
        text = text.replace(character, f"\\{character}")
    return text.replace("\n", " ")
