"""A document as one page that needs nothing else: no script, no request, no font.

A policy in the page itself forbids everything but its own style sheet, so that even a mistake here
could not run or load anything that a model's name or a text brought along.
"""

from importlib.metadata import version
from importlib.resources import files
from typing import Any, Final

from attncost.draw.markup import element, escaped
from attncost.report.document import Document, Finding, Section
from attncost.report.html_blocks import block_groups, command

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
# With fewer sections than this a page is its own table of contents.
_CONTENTS_FROM: Final = 4


def html(document: Document) -> str:
    """Render a document as a page.

    Two facts are shown at its foot: `environment`, and `contains`, a sentence that says what "it",
    the page, gives away about the text that was measured.
    """
    body = (
        _header(document),
        element("main", _findings(document.findings), _contents(document), _sections(document)),
        _footer(document),
    )
    return _PAGE.format(
        version=escaped(version("attncost")),
        title=escaped(document.title),
        style="\n".join(map(_style, _STYLES)),
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
    links = (
        element("li", element("a", escaped(section.title), href=f"#section-{number}"))
        for number, section in enumerate(document.sections, 1)
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
    environment = document.facts.get("environment", {})
    pairs = (
        element("div", element("dt", escaped(key.replace("_", " "))), element("dd", value))
        for key, value in _flat(environment)
    )
    return element(
        "footer",
        element("h2", "Where this was measured") if environment else "",
        element("dl", *pairs) if environment else "",
        _paragraph(
            f"Made by attncost {version('attncost')}, Apache-2.0. This page runs no script and "
            f"requests nothing. {document.facts.get('contains', '')}".strip()
        ),
    )


def _flat(facts: dict[str, Any], before: str = "") -> list[tuple[str, str]]:
    """Return facts that are known as pairs of a name and markup, inner ones under both names."""
    pairs = []
    for key, value in facts.items():
        name = f"{before}{key}"
        if isinstance(value, dict):
            pairs += _flat(value, f"{name} ")
        elif isinstance(value, list | tuple):
            pairs += _flat({name: ", ".join(map(str, value))})
        elif value not in (None, ""):
            pairs.append((name, escaped(str(value))))
    return pairs


def _paragraph(text: str, kind: str = "") -> str:
    return element("p", escaped(text), class_=kind) if text else ""
