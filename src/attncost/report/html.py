"""A document as one page that needs nothing else: no script, no request, no font.

A policy in the page itself forbids everything but its own style sheet, so that even a mistake here
could not run or load anything that a model's name or a text brought along.
"""

from importlib.metadata import version
from importlib.resources import files
from typing import Final

from attncost.draw.markup import element, escaped
from attncost.report.document import Document, Finding, Section
from attncost.report.environment import environment
from attncost.report.html_blocks import block_groups, command
from attncost.report.raw_data import raw_data

# The icon is data, so that no browser asks for /favicon.ico.
_PAGE: Final = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="attncost {version}">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
{body}
</body>
</html>
"""
# What is printed overrides what is seen, so it comes last.
_STYLES: Final = ("page.css", "page_blocks.css", "page_print.css")
# A page can be sent by mail, whatever it carries.
_MOST: Final = 900_000
_DATA: Final = "raw-data"
# With fewer sections than this a page is its own table of contents.
_CONTENTS_FROM: Final = 4


def html(document: Document) -> str:
    """Render a document as a page.

    Two facts are shown at its foot: `environment`, and `contains`, a sentence that says what "it",
    the page, gives away about the text that was measured.
    """
    parts = (_findings(document.findings), _contents(document), _sections(document))
    style = "\n".join(map(_style, _STYLES))
    room = _MOST - sum(map(len, (style, *parts)))
    data = element("section", *raw_data(document, room=room), id=_DATA)
    body = (_header(document), element("main", *parts, data), _footer(document))
    return _PAGE.format(
        version=escaped(version("attncost")),
        title=escaped(document.title),
        style=style,
        body="\n".join(body),
    )


def _style(name: str) -> str:
    return files("attncost.report").joinpath(name).read_text(encoding="utf-8")


def _header(document: Document) -> str:
    return element(
        "header",
        element("p", "attncost", class_="brand"),
        element("h1", escaped(document.title)),
        _paragraph(document.subtitle, "subtitle"),
        command(document.command),
    )


def _findings(findings: tuple[Finding, ...]) -> str:
    if not findings:
        return ""
    items = (
        element("li", _paragraph(finding.text), command(finding.command), id=finding.key)
        for finding in findings
    )
    title = element("h2", "Findings", id="findings")
    return element("section", title, element("ol", *items), class_="findings")


def _contents(document: Document) -> str:
    if len(document.sections) < _CONTENTS_FROM:
        return ""
    places = {f"section-{i}": one.title for i, one in enumerate(document.sections, 1)}
    places[_DATA] = "Raw data"
    links = (
        element("li", element("a", escaped(title), href=f"#{place}"))
        for place, title in places.items()
    )
    return element("nav", element("h2", "Contents"), element("ol", *links))


def _sections(document: Document) -> str:
    return "\n".join(
        _section(section, f"section-{number}")
        for number, section in enumerate(document.sections, 1)
    )


def _section(section: Section, ident: str) -> str:
    paragraphs = map(_paragraph, section.text)
    title = element("h2", escaped(section.title))
    links = (
        element("p", element("a", escaped(link.text), href=link.address)) for link in section.links
    )
    blocks = block_groups(section.blocks, ident)
    return element("section", title, *paragraphs, *links, *blocks, id=ident)


def _footer(document: Document) -> str:
    pairs = (
        element("div", element("dt", escaped(name)), element("dd", escaped(value)))
        for name, value in environment(document)
    )
    known = list(pairs)
    return element(
        "footer",
        element("h2", "Where this was measured") if known else "",
        element("dl", *known) if known else "",
        _paragraph(
            f"Made by attncost {version('attncost')}, Apache-2.0. This page runs no script and "
            f"requests nothing. {document.facts.get('contains', '')}".strip()
        ),
    )


def _paragraph(text: str, kind: str = "") -> str:
    return element("p", escaped(text), class_=kind) if text else ""
