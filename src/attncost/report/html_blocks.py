"""Tables and figures of a page, each with the command that reproduces it."""

from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from typing import Final

from attncost.core.mathml import mathml
from attncost.draw.markup import element, escaped
from attncost.draw.svg import svg
from attncost.report.cells import is_number, written
from attncost.report.document import COMMAND, FORMULA, Cell, Column, Figure, Table

# A column with a longer text than this may break it into lines.
_LONG: Final = 40
_WORD: Final = 14
# A table with as many columns fits in half of a page.
_NARROW: Final = 4
# On paper the numbers stand beside their figure, unless they have more columns than this.
_BESIDE: Final = 5
# A table with more columns than this fits on paper in small print only.
_ON_PAPER: Final = 8


def block_groups(blocks: Iterable[Table | Figure], ident: str) -> Iterator[str]:
    """Yield the blocks of a section; several figures and narrow tables side by side.

    Args:
        blocks: Its tables and figures.
        ident: What their ids begin with, unique in the page.
    """
    numbered = enumerate(blocks, 1)
    for narrow, group in groupby(numbered, lambda pair: _is_narrow(pair[1])):
        members = list(group)
        parts = [_block(block, f"{ident}-{number}") for number, block in members]
        mixed = any(isinstance(block, Table) for _, block in members)
        kind = "figures mixed" if mixed else "figures"
        alone = len(members) == 1 and mixed
        yield element("div", *parts, class_=kind) if narrow and not alone else "\n".join(parts)


def _is_narrow(block: Table | Figure) -> bool:
    if isinstance(block, Figure):
        return True
    # A browser breaks no line inside of a formula.
    drawn = any(column.unit == FORMULA for column in block.columns)
    return len(block.columns) <= _NARROW and not drawn


def command(line: str) -> str:
    """Return a command as something to copy, or nothing if there is none."""
    if not line:
        return ""
    return element("p", _code(line), class_="command")


def _code(line: str) -> str:
    # A browser would break an option after any of its hyphens.
    words = (
        element("span", escaped(word)) if word.startswith("-") else escaped(word)
        for word in line.split(" ")
    )
    return element("code", " ".join(words))


def _block(block: Table | Figure, ident: str) -> str:
    if isinstance(block, Table):
        kind = "table wide" if len(block.columns) > _ON_PAPER else "table"
        return element("div", _table(block, ident), _after(block), class_=kind)
    numbers = element(
        "details",
        element("summary", "The numbers and the command behind it"),
        _table(block.table, ident),
        _after(block.table),
    )
    caption = element("figcaption", escaped(block.chart.title))
    picture = svg(block.chart, ident=ident)
    wide = "wide" if len(block.table.columns) > _BESIDE else ""
    return element("figure", caption, element("div", picture, numbers), class_=wide)


def _after(table: Table) -> str:
    note = element("p", escaped(table.note), class_="note") if table.note else ""
    return note + command(table.command)


def _table(table: Table, ident: str) -> str:
    """Return a table in a container that scrolls, and that a keyboard can scroll."""
    # A caption is as wide as its table, however far that scrolls; the span keeps it in view.
    caption = element("caption", element("span", escaped(table.title)), id=f"{ident}-caption")
    rows = [[written(*pair) for pair in zip(row, table.columns, strict=True)] for row in table.rows]
    kinds = [_kind(column, [row[i] for row in rows]) for i, column in enumerate(table.columns)]
    heads = (
        element("th", escaped(column.title), scope="col", class_=kind + _breaking(column.title))
        for column, kind in zip(table.columns, kinds, strict=True)
    )
    whole = element(
        "table",
        caption,
        element("thead", element("tr", *heads)),
        element("tbody", *(_row(row, table.columns, kinds) for row in table.rows)),
    )
    return element(
        "div",
        whole,
        class_="scroll",
        role="region",
        tabindex="0",
        aria_labelledby=f"{ident}-caption",
    )


def _row(row: tuple[Cell, ...], columns: tuple[Column, ...], kinds: list[str]) -> str:
    cells = zip(map(_markup, row, columns), kinds, strict=True)
    return element(
        "tr",
        *(element("th", inside, scope="row", class_=kind) for inside, kind in islice(cells, 1)),
        *(element("td", inside, class_=kind) for inside, kind in cells),
    )


def _markup(cell: Cell, column: Column) -> str:
    """Return a cell as people see it, a formula drawn as one."""
    if column.unit == COMMAND and cell:
        return _code(str(cell))
    if column.unit != FORMULA or cell is None or isinstance(cell, str):
        return escaped(written(cell, column))
    return mathml(cell)


def _kind(column: Column, texts: list[str]) -> str:
    """Return the class of the cells of a column."""
    if is_number(column):
        return "number"
    return "long" if max(map(len, texts), default=0) > _LONG else "short"


def _breaking(title: str) -> str:
    """Return the class of a head that may break inside a word, where paper is narrow."""
    return " breaking" if max(map(len, title.split()), default=0) > _WORD else ""
