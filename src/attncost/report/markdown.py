"""A document as Markdown, for an issue, a notebook or a pull request."""

from attncost.report.cells import is_number, written
from attncost.report.document import COMMAND, Cell, Column, Document, Figure, Finding, Table


def markdown(document: Document) -> str:
    """Render a document as GitHub-flavoured Markdown; a figure is shown as its table."""
    lines = [f"# {_safe(document.title)}", ""]
    if document.subtitle:
        lines += [_safe(document.subtitle), ""]
    if document.findings:
        lines += [*map(_finding, document.findings), ""]
    for section in document.sections:
        lines += [f"## {_safe(section.title)}", ""]
        for sentence in section.text:
            lines += [_safe(sentence), ""]
        for link in section.links:
            lines += [f"[{_safe(link.text)}]({link.address})", ""]
        for block in section.blocks:
            lines += [*_table(block.table if isinstance(block, Figure) else block), ""]
    if document.command:
        lines += [f"Made with {_code(document.command)}."]
    return "\n".join(lines).rstrip()


def _finding(finding: Finding) -> str:
    """Return a line of a list, and under it what reproduces it."""
    again = f"  \n  {_code(finding.command)}" if finding.command else ""
    return f"- {_safe(finding.text)}{again}"


def _table(table: Table) -> list[str]:
    def row(cells: list[str]) -> str:
        return f"| {' | '.join(cells)} |"

    rows = [
        row([_cell(*pair) for pair in zip(cells, table.columns, strict=True)])
        for cells in table.rows
    ]
    rule = row(["--:" if is_number(column) else ":--" for column in table.columns])
    head = row([_safe(column.title) for column in table.columns])
    note = ["", _safe(table.note)] if table.note else []
    note += ["", _code(table.command)] if table.command else []
    return [f"**{_safe(table.title)}**", "", head, rule, *rows, *note]


def _cell(cell: Cell, column: Column) -> str:
    said = written(cell, column)
    return _code(said) if column.unit == COMMAND and "|" not in said else _safe(said)


def _code(command: str) -> str:
    """Return a command as code: with more marks around it than there are in it."""
    line = " ".join(command.split("\n"))
    marks = "`"
    while marks in line:
        marks += "`"
    return f"{marks} {line} {marks}" if len(marks) > 1 else f"`{line}`"


def _safe(text: str) -> str:
    """Keep what people typed from becoming markup."""
    for character in "\\`*_|<>[]":
        text = text.replace(character, f"\\{character}")
    return text.replace("\n", " ")
