"""A document as LaTeX, for a paper: tables of the booktabs package, formulas in mathematics."""

from typing import Final

from attncost.core.formula import latex as formula_latex
from attncost.report.cells import is_number, written
from attncost.report.document import FORMULA, Cell, Column, Document, Figure, Table

_ESCAPES: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "·": r"$\cdot$",
        "²": r"$^2$",
        "µ": r"\textmu{}",
        "½": r"$\frac{1}{2}$",
        **{character: rf"\{character}" for character in "&%$#_{}"},
    }
)


def latex(document: Document) -> str:
    """Render the sentences and tables of a document, for a file that uses booktabs."""
    lines = [f"% {document.command or document.title}"]
    lines += [_safe(finding.text) + "\n" for finding in document.findings]
    for section in document.sections:
        lines += [rf"\paragraph{{{_safe(section.title)}}}"]
        lines += [_safe(sentence) + "\n" for sentence in section.text]
        lines += [_safe(f"{link.text}: {link.file}") + "\n" for link in section.links]
        for block in section.blocks:
            lines += _table(block.table if isinstance(block, Figure) else block)
    return "\n".join(lines).rstrip()


def _table(table: Table) -> list[str]:
    columns = "".join("r" if is_number(column) else "l" for column in table.columns)
    rows = [
        " & ".join(_cell(*pair) for pair in zip(cells, table.columns, strict=True)) + r" \\"
        for cells in table.rows
    ]
    head = " & ".join(_safe(column.title) for column in table.columns)
    begin = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", rf"{head} \\", r"\midrule"]
    return [*begin, *rows, r"\bottomrule", r"\end{tabular}"]


def _cell(cell: Cell, column: Column) -> str:
    if column.unit == FORMULA and cell is not None and not isinstance(cell, str):
        return f"${formula_latex(cell)}$"
    return _safe(written(cell, column))


def _safe(text: str) -> str:
    return text.translate(_ESCAPES)
