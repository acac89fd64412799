"""What a command has to say, as plain data; the other files here render it, one way each.

A value in a table stays a number until it is rendered, so that JSON keeps every digit and people
read three.
"""

from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Final, TypeAlias, final
from urllib.parse import quote

from attncost.core.errors import ShapeError
from attncost.core.units import UNITS
from attncost.draw.chart import Chart

# A formula is anything that `attncost.core.formula` can write; None is an empty cell.
Cell: TypeAlias = Any
TEXT: Final = "text"
FORMULA: Final = "formula"
COMMAND: Final = "command"
WORDS: Final = (TEXT, FORMULA, COMMAND)


@final
@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Attributes:
        title: What its head says, and its key in JSON.
        unit: One of `attncost.core.units.UNITS`, or one of `WORDS`.
    """

    title: str
    unit: str = TEXT

    def __post_init__(self) -> None:
        if self.unit not in (*UNITS, *WORDS):
            raise ShapeError(f"unit must be one of {', '.join(UNITS)}, got {self.unit!r}.")


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Rows of values under named columns.

    Attributes:
        title: What the rows are; unique within a document.
        columns: Their heads.
        rows: As many cells as columns each; None is an empty cell.
        note: What a reader must know to read it.
        command: What reproduces it.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    command: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ShapeError(f"{self.title}: {len(self.columns)} columns, got {row}.")


@final
@dataclass(frozen=True, slots=True)
class Figure:
    """A chart and the table that it was drawn from."""

    chart: Chart
    table: Table


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One sentence with its numbers.

    Attributes:
        key: Its name in JSON, in words_with_underscores.
        text: The sentence.
        values: The numbers in it, unrounded.
        command: What reproduces them.
    """

    key: str
    text: str
    values: dict[str, Any] = field(default_factory=dict)
    command: str = ""


@final
@dataclass(frozen=True, slots=True)
class Link:
    """A file that lies beside the document.

    Attributes:
        text: What it is, in a sentence or a few words.
        file: Its name, without a folder.
    """

    text: str
    file: str

    def __post_init__(self) -> None:
        _check_beside(self.file)

    @property
    def address(self) -> str:
        """What a page or Markdown links to: relative, with nothing in it that could be a scheme."""
        return quote(self.file, safe="")


@final
@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that a page carries in itself, for who wants its numbers.

    Attributes:
        text: What it is, in a sentence without its stop.
        file: Its name, without a folder.
        content: What is in it.
    """

    text: str
    file: str
    content: bytes

    def __post_init__(self) -> None:
        _check_beside(self.file)


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """A heading, sentences under it, links, then tables and figures."""

    title: str
    text: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    blocks: tuple[Table | Figure, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Chapter:
    """A section, and what of it belongs on the first page."""

    findings: tuple[Finding, ...]
    section: Section


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """Everything that one command found.

    Attributes:
        schema: Name and version of its JSON form, such as `attncost.report/1`.
        title: What it is about.
        subtitle: Where and how, in a line.
        command: What reproduces all of it.
        findings: What matters most, first; their keys differ.
        sections: The rest.
        facts: What JSON carries beside the text: sizes, environment.
        attachments: Files that a page carries beside this record, which it carries anyway.
    """

    schema: str
    title: str
    subtitle: str = ""
    command: str = ""
    findings: tuple[Finding, ...] = ()
    sections: tuple[Section, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()

    def __post_init__(self) -> None:
        keys = [finding.key for finding in self.findings]
        if len(set(keys)) < len(keys):
            raise ShapeError(f"findings must have keys that differ, got {keys}.")


def _check_beside(file: str) -> None:
    """Refuse a name that leads elsewhere."""
    if not file or PurePath(file).name != file:
        raise ShapeError(f"a link leads to a file beside the page, got {file!r}.")
