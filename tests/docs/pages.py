"""The Markdown pages of the repository, and what their Python code blocks define."""

from functools import cache
from pathlib import Path

from sybil.document import Document
from sybil.parsers.markdown import PythonCodeBlockParser

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def parsed(page):
    return Document.parse(str(page), PythonCodeBlockParser())


@cache
def defined_in(page):
    """Run the code blocks of a page in order and return their common namespace."""
    document = parsed(ROOT / page)
    for example in document:
        example.evaluate()
    return document.namespace
