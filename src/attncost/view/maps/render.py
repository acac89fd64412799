"""A page of maps: the template with its header, blocks, styles and script in their slots.

The page is one file that requests nothing. A policy in it allows this very script alone, so text
that came with a model or its input cannot run, whatever it holds; and it cannot leave its place,
for in the header every `<` is written as an escape.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

from attncost.draw.markup import escaped
from attncost.view.maps.arrays.blocks import Blocks

_SLOT: Final = re.compile(r"\{\{(\w+)\}\}")
_SCRIPT: Final = re.compile(r'<script type="module">(.*?)</script>', re.DOTALL)
# What would end the script or start a comment around its end.
_ENDING: Final = re.compile(r"</script|<!--", re.IGNORECASE)
_POLICY: Final = (
    "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
# Tall enough for the overview and an open head.
_HEIGHT: Final = 720


def page(header: Mapping[str, object], blocks: Blocks) -> Iterator[str]:
    """Yield the page piece by piece, so that nobody needs to hold it at once.

    Args:
        header: What the page says, as plain data.
        blocks: Its arrays.
    """
    template, style, script = _files()
    slots = {
        "title": escaped(str(header["title"])),
        "style": style,
        "script": script,
        "csp": escape(_policy(template, script)),
    }
    # Slots at odd places: text that looks like a slot is never taken for one.
    for place, piece in enumerate(_SLOT.split(template)):
        if not place % 2:
            yield piece
        elif piece == "header":
            yield written(header)
        elif piece == "blocks":
            yield from blocks.elements()
        else:
            yield slots[piece]


def written(header: Mapping[str, object]) -> str:
    """Write data as JSON that is safe inside a script element.

    >>> "<" in written({"token": "</script><img>"})
    False
    """
    text = json.dumps(header, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def framed(page: str, title: str) -> str:
    """Return a page inside another one, for notebooks."""
    return (
        f'<iframe title="{escaped(title)}" srcdoc="{escape(page)}" '
        f'style="width:100%;height:{_HEIGHT}px;border:0"></iframe>'
    )


@cache
def _files() -> tuple[str, str, str]:
    """Return the template, the styles and the script, each of the latter in order of name."""
    folder = files("attncost.view.maps").joinpath("page")
    named = sorted(folder.iterdir(), key=lambda file: file.name)

    def all_of(ending: str) -> str:
        return "\n".join(_text(file) for file in named if file.name.endswith(ending))

    script = all_of(".js")
    assert not _ENDING.search(script), "a script must not end itself"
    return _text(folder.joinpath("page.html")), all_of(".css"), script


def _text(file: Traversable) -> str:
    return file.read_text(encoding="utf-8")


def _policy(template: str, script: str) -> str:
    """Return the policy that allows what stands between the tags of the script, and no other."""
    found = _SCRIPT.search(template)
    assert found, "the template has a script"
    inside = found[1].replace("{{script}}", script)
    # A parser reads all line ends as one character before it hashes.
    digest = sha256(inside.replace("\r\n", "\n").encode()).digest()
    return _POLICY.format(hash=base64.b64encode(digest).decode("ascii"))
