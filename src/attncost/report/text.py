"""A document for a terminal of 80 columns."""

from io import StringIO

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from attncost.report.cells import is_number, written
from attncost.report.document import Document, Figure, Table
from attncost.report.wrapped import Wrapped

_COLUMNS = 80


def text(document: Document, *, width: int = _COLUMNS) -> str:
    """Render a document as plain text; a figure is shown as its table."""
    console = Console(file=StringIO(), width=width, color_system=None, highlight=False)

    def line(sentence: str) -> None:
        console.print(Text(sentence), soft_wrap=False)

    line(document.title)
    if document.subtitle:
        line(document.subtitle)
    for finding in document.findings:
        console.print(Padding(Text(finding.text), (0, 0, 0, 2)))
    for section in document.sections:
        line(f"\n{section.title}")
        for sentence in (*section.text, *(f"{one.text}: {one.file}" for one in section.links)):
            line(sentence)
        for block in section.blocks:
            table = block.table if isinstance(block, Figure) else block
            console.print()
            console.print(_grid(table))
            if table.note:
                line(table.note)
    assert isinstance(console.file, StringIO)
    return "\n".join(row.rstrip() for row in console.file.getvalue().splitlines())


def _grid(table: Table) -> Grid:
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    for column in table.columns:
        if is_number(column):
            grid.add_column(column.title, justify="right", no_wrap=True)
        else:
            # A name that is too long goes on below instead of being cut off.
            grid.add_column(column.title, overflow="fold")
    for row in table.rows:
        cells = zip(row, table.columns, strict=True)
        grid.add_row(*(_cell(written(cell, column)) for cell, column in cells))
    return grid


def _cell(said: str) -> Text | Wrapped:
    """Return a cell: a spelling such as `window:width=4,ahead=1` is no sentence to break."""
    return Wrapped(said) if ":" in said and "," in said and " " not in said else Text(said)
