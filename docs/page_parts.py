"""What made pages share: those of patterns and mechanisms are read off their files, others filled.

A comment `<!-- made: NAME -->` in a page is a place for what a hook makes of measured results.
"""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields
from typing import Any, Final

from mkdocs.structure.pages import Page

import attncost
from attncost.draw.chart import Chart
from attncost.draw.markup import element, escaped
from attncost.draw.svg import svg

_ARXIV: Final = re.compile(r"arXiv:(\d{4}\.\d{4,5})")
_ORDER: Final = re.compile(r"O\((?:[^()]|\([^()]*\))*\)")
_WHEN: Final = re.compile(r"\b(?:Use it when|Not when|Not for)(?=\s)")
_PLACE: Final = re.compile(r"<!-- made: (\w+) -->")
_ATTRIBUTE: Final = re.compile(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", re.MULTILINE)


def filled(
    markdown: str, page: Page, *, name: str, made: Mapping[str, Callable[[], str]]
) -> str | None:
    """Return a page with its places filled, or None if it is another page.

    Args:
        markdown: The page.
        page: What MkDocs knows of it.
        name: Which page is filled.
        made: What makes the text of each place.
    """
    if page.file.src_uri != name:
        return None
    return _PLACE.sub(lambda place: made[place[1]](), markdown)


def charted(chart: Chart, ident: str) -> str:
    """Return a chart with what it shows below.

    Args:
        chart: What to draw.
        ident: What its ids begin with; unique in the page.
    """
    told = escaped(f"{chart.title}. {chart.description}")
    return element("figure", svg(chart, ident=ident), element("figcaption", told), class_="chart")


def said(kind: type) -> str:
    """Return the docstring of the file of a class."""
    return inspect.getdoc(inspect.getmodule(kind)) or ""


def with_advice(text: str) -> str:
    """Set in bold when to use it, and when not."""
    return _WHEN.sub(r"**\g<0>**", text)


def grows(text: str) -> str:
    """Return the complexity that a docstring states."""
    found = _ORDER.search(text)
    return found[0] if found else ""


def parameters(kind: type) -> Iterator[str]:
    """Give a line for each parameter: what it is if left out, and what it means."""
    told = dict(_ATTRIBUTE.findall(inspect.getdoc(kind) or ""))
    for field in fields(kind):  # type: ignore[arg-type]  # a dataclass
        usual = "" if field.default is MISSING else f" (`{field.default!r}` if left out)"
        yield f"- `{field.name}`{usual}: {' '.join(told.get(field.name, '').split())}"


def sizes(one: Any) -> dict[str, Any]:  # noqa: ANN401 -- a dataclass
    """Return the value of every parameter."""
    return {field.name: getattr(one, field.name) for field in fields(one)}


def called(one: Any, factory: str) -> str:  # noqa: ANN401 -- a dataclass
    """Return how it is written in Python; parameters that are 0 anyway are left out.

    Args:
        one: A pattern, a mechanism or a formula.
        factory: What makes one by its name, such as `pattern`.
    """
    usual = {field.name: field.default for field in fields(one)}
    given = ", ".join(
        f"{key}={_shown(key, value)}"
        for key, value in sizes(one).items()
        if value or value != usual[key]
    )
    kind = type(one)
    if kind.__name__ in attncost.__all__:
        return f"ac.{kind.__name__}({given})"
    name = f'"{name_of(kind)}"'
    return f"ac.{factory}({', '.join(filter(None, (name, given)))})"


def name_of(kind: type) -> str:
    """Return the name of the file of a class."""
    return kind.__module__.rpartition(".")[2]


def linked(source: str) -> str:
    """Return a source with links to its papers."""
    return _ARXIV.sub(r"[arXiv:\1](https://arxiv.org/abs/\1)", source)


def file_of(kind: type) -> str:
    """Return the file of a class."""
    return f"`{kind.__module__.replace('.', '/')}.py`"


def _shown(name: str, value: object) -> str:
    """Return a value, or the name of what cannot be written in a line."""
    if isinstance(value, str):
        return f'"{value}"'
    return name if "<" in repr(value) else repr(value)
