"""Elements of SVG and HTML, written so that text cannot turn into markup.

Only `element` joins text and markup, and it escapes every attribute; what stands between the tags
is markup already, so plain text passes through `escaped` on its way there.
"""

import re
from html import escape
from typing import Final

# What XML 1.0 allows nowhere, not even escaped.
_FORBIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def escaped(text: str) -> str:
    """Return text that is safe in an element and in a quoted attribute."""
    return escape(_FORBIDDEN.sub("\ufffd", text))


def element(name: str, *inner: str, **attributes: str | float) -> str:
    """Return one element.

    Args:
        name: Its tag.
        inner: Markup between the tags.
        attributes: Text or positions, which get one decimal; an underscore becomes a hyphen, and
            one at the end is dropped (`class_`). Empty ones are left out.

    >>> element("text", escaped("a < b"), x=1.25, text_anchor="end")
    '<text x="1.2" text-anchor="end">a &lt; b</text>'
    """
    head = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_written(value)}"'
        for key, value in attributes.items()
        if value != ""
    )
    return f"<{name}{head}>{''.join(inner)}</{name}>"


def position(value: float) -> str:
    """Return a position with one decimal, or none if it is whole.

    >>> position(12.04), position(-0.01), position(3.25)
    ('12', '0', '3.2')
    """
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")


def _written(value: str | float) -> str:
    return escaped(value) if isinstance(value, str) else position(value)
