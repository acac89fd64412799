"""What a terminal sees: texts in which nothing is left that it would obey.

Names of files, models and tokens are written by anybody: an escape sequence in one would rename the
window, colour the rest, or turn the order of letters round. Such characters are shown by their
codes; letters of every script, emoji and what joins them are left as they are.
"""

import re
from typing import TYPE_CHECKING, Final

import typer

if TYPE_CHECKING:
    from attncost.report.document import Document

# Controls but for the end of a line and the tabulator, both separators of Unicode that end a line,
# what turns the order of letters round, and halves of characters.
_OBEYED: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def shown(text: str) -> str:
    r"""Return a text that a terminal only shows.

    >>> print(shown("\x1b]0;title\x07 caf\xe9"))
    \u001b]0;title\u0007 café
    """
    return _OBEYED.sub(_code, text)


def printed(document: "Document", *, as_json: bool) -> None:
    """Print a document, as JSON with every digit or as text.

    Args:
        document: The document.
        as_json: Whether it is JSON.
    """
    from attncost.report.plain import dumped
    from attncost.report.text import text

    typer.echo(shown(dumped(document) if as_json else text(document)))


def _code(found: re.Match[str]) -> str:
    # As JSON writes it, so that a document stays one.
    return f"\\u{ord(found[0]):04x}"
