"""The calculator's page: the template with its data, styles and script in their slots.

The page is one file that requests nothing. A policy in it allows this very script alone, and the
data are base64, so no name of a model can leave its place. Whole lines of comments and the space
before lines stay in the sources: a page is read by a browser.
"""

import base64
import json
import re
import zlib
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any, Final

from attncost.draw.markup import escaped

_SLOT: Final = re.compile(r"\{\{(\w+)\}\}")
_SCRIPT: Final = re.compile(r'<script type="module">(.*?)</script>', re.DOTALL)
_ENDING: Final = re.compile(r"</script|<!--", re.IGNORECASE)
_POLICY: Final = (
    "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def page(header: Mapping[str, Any], *, title: str = "attncost calculator") -> str:
    """Return the page.

    Args:
        header: What `exported` returns.
        title: Of the window.
    """
    template, style, script = _files()
    slots = {
        "title": escaped(title),
        "style": style,
        "script": script,
        "header": deflated(header),
        "csp": escape(policy()),
    }
    # A text that looks like a slot is never taken for one: only the template is searched.
    return _SLOT.sub(lambda slot: slots[slot[1]], template)


def deflated(header: Mapping[str, Any]) -> str:
    """Return data as base64 of deflated JSON, a quarter of its size; its letters end no element."""
    text = json.dumps(header, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")


@cache
def policy() -> str:
    """Return the policy that allows the script of the page and no other."""
    template, _, script = _files()
    found = _SCRIPT.search(template)
    assert found, "the template has a script"
    inside = found[1].replace("{{script}}", script)
    digest = sha256(inside.encode()).digest()
    return _POLICY.format(hash=base64.b64encode(digest).decode("ascii"))


@cache
def _files() -> tuple[str, str, str]:
    """Return the template, the styles and the script, each of the latter in order of name."""
    folder = files(__package__).joinpath("page")
    named = sorted(folder.iterdir(), key=lambda file: file.name)

    def all_of(ending: str) -> str:
        texts = [file.read_text(encoding="utf-8") for file in named if file.name.endswith(ending)]
        return "\n".join(line for text in texts for line in _lines(text))

    script = all_of(".js")
    assert not _ENDING.search(script), "a script must not end itself"
    return folder.joinpath("page.html").read_text(encoding="utf-8"), all_of(".css"), script


def _lines(text: str) -> list[str]:
    """Return the lines of a source that a browser needs; none of ours spans a text over lines."""
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("//")]
