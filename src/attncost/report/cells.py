"""How one cell of a table is written, the same in every rendering for people."""

from attncost.core.formula import text as formula_text
from attncost.core.units import show
from attncost.report.document import FORMULA, WORDS, Cell, Column


def written(cell: Cell, column: Column) -> str:
    """Write a cell: nothing for None, a formula in Unicode, a number with its unit."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    if column.unit == FORMULA:
        return formula_text(cell)
    return str(cell) if column.unit in WORDS else show(cell, column.unit)


def is_number(column: Column) -> bool:
    """Say whether a column holds numbers, which are aligned at the right."""
    return column.unit not in WORDS
